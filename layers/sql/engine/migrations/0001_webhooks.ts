/**
 * Webhooks, their secrets and their deliveries, and the functions that write what webhooks are told of: in the transaction in which
 * it happens, and only where the tenant has an enabled webhook.
 */
import { by_key } from "./0001_plans.ts"

/** Whether the tenant of the row has an enabled webhook: looked up before anything else, because most have none. */
const is_wanted =
  "EXISTS (SELECT FROM troupe.webhooks w WHERE w.tenant = NEW.tenant AND w.status = 0)"

const now = "floor(extract(epoch FROM clock_timestamp()) * 1000)::int8"

export const statements: ReadonlyArray<string> = [
  `CREATE TABLE troupe.webhooks (
    id uuid PRIMARY KEY,
    -- Lists are in this order.
    position int8 NOT NULL GENERATED ALWAYS AS IDENTITY,
    tenant text NOT NULL,
    -- 0 enabled, 1 disabled.
    status int2 NOT NULL,
    -- JSON objects: where to and what, why not, and what failed last.
    settings text NOT NULL,
    disabled text,
    failing text
  )`,
  // A tenant's list, and whether it has an enabled one.
  `CREATE INDEX webhooks_tenant ON troupe.webhooks (tenant, status, position)`,
  // Of no tenant, so that no read of a tenant finds them.
  `CREATE TABLE troupe.webhook_secrets (
    position int8 PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    webhook uuid NOT NULL,
    secret text NOT NULL,
    made_at int8 NOT NULL,
    -- Absent = it is the newest.
    ends_at int8
  )`,
  `CREATE INDEX webhook_secrets_webhook ON troupe.webhook_secrets (webhook, position)`,
  `CREATE TABLE troupe.webhook_deliveries (
    id uuid PRIMARY KEY,
    position int8 NOT NULL GENERATED ALWAYS AS IDENTITY,
    tenant text NOT NULL,
    webhook uuid NOT NULL,
    event uuid NOT NULL,
    -- 0 waiting, 1 delivered, 2 failed.
    status int2 NOT NULL,
    -- Why it failed without an attempt: 0 disabled, 1 full.
    reason int2,
    -- What happened, as a JSON object, and a JSON list.
    news text NOT NULL,
    attempts text NOT NULL,
    created_at int8 NOT NULL,
    UNIQUE (event, webhook)
  )`,
  // The deliveries of a webhook, newest first: all, and those of one status.
  `CREATE INDEX webhook_deliveries_newest ON troupe.webhook_deliveries (webhook, position)`,
  `CREATE INDEX webhook_deliveries_status ON troupe.webhook_deliveries (webhook, status, position)`,
  // The oldest, which are removed.
  `CREATE INDEX webhook_deliveries_age ON troupe.webhook_deliveries (created_at)`,
  // The end of a run. Whether it was cancelled its task does not say.
  `CREATE FUNCTION troupe.publish_end() RETURNS trigger LANGUAGE plpgsql ${by_key} AS $body$
BEGIN
  IF ${is_wanted} THEN
    PERFORM troupe.announce(NEW.tenant, 'webhooks/' || NEW.id, 'webhook.event', json_build_object('type', CASE
      WHEN NEW.status = 2 THEN 'run.complete'
      WHEN (SELECT r.status FROM troupe.runs r WHERE r.run_id = NEW.id) = 5 THEN 'run.cancelled'
      ELSE 'run.failed' END, 'run', NEW.id)::text, ${now});
  END IF;
  RETURN NULL;
END $body$`,
  `CREATE TRIGGER publish_end AFTER UPDATE OF status ON troupe.agent_tasks
FOR EACH ROW WHEN (OLD.status < 2 AND NEW.status >= 2) EXECUTE FUNCTION troupe.publish_end()`,
  `CREATE FUNCTION troupe.publish_question() RETURNS trigger LANGUAGE plpgsql ${by_key} AS $body$
BEGIN
  IF ${is_wanted} THEN
    PERFORM troupe.announce(NEW.tenant, 'webhooks/' || NEW.run_id, 'webhook.event', json_build_object('type',
      CASE NEW.status WHEN 0 THEN 'approval.requested' ELSE 'approval.settled' END,
      'run', NEW.run_id, 'approval', NEW.id)::text, ${now});
  END IF;
  RETURN NULL;
END $body$`,
  `CREATE TRIGGER publish_question AFTER INSERT ON troupe.approvals
FOR EACH ROW WHEN (NEW.status = 0) EXECUTE FUNCTION troupe.publish_question()`,
  `CREATE TRIGGER publish_settled AFTER UPDATE OF status ON troupe.approvals
FOR EACH ROW WHEN (OLD.status = 0 AND NEW.status <> 0) EXECUTE FUNCTION troupe.publish_question()`
]
