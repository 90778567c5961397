/**
 * Conversations, their messages, and the tasks that messages begin, all known within their tenant: two tenants may use the same id.
 * Events that came in, the channels that conversations are bound to, and what people were told. Two triggers announce what a bound
 * conversation has to tell: in the transaction that writes it, so that no announcement is lost.
 */
import { by_key, once } from "./0001_plans.ts"

export const statements: ReadonlyArray<string> = [
  /*
   * A conversation with one address. The row's lock is what orders the tasks and messages of a conversation. Each of its messages
   * and answers writes it again: in the same page, so that no index is written but once in a quarter of an hour.
   */
  `CREATE TABLE troupe.conversations (
    tenant text NOT NULL,
    id text NOT NULL,
    position int8 NOT NULL GENERATED ALWAYS AS IDENTITY,
    agent text NOT NULL,
    address_key text NOT NULL,
    initiated_by text NOT NULL,
    trigger_event_id text,
    -- The sender of the first message.
    begun_by text,
    created_at int8 NOT NULL,
    -- How many there are, by which the next ones are numbered.
    tasks int4 NOT NULL DEFAULT 0,
    messages int4 NOT NULL DEFAULT 0,
    -- A JSON string and a JSON object: what lists show.
    title text,
    metadata text,
    -- The time of the last message or answer.
    active_at int8 NOT NULL DEFAULT 0,
    -- The quarter of an hour of that. It is indexed in the place of the time: most messages leave it as it is, and so the indexes.
    active_slot int8 GENERATED ALWAYS AS (active_at / 900000) STORED,
    -- All of it was erased: lists leave it out.
    deleted boolean NOT NULL DEFAULT false,
    PRIMARY KEY (id, tenant)
  ) WITH (fillfactor = 70)`,
  // The lists of a tenant and of a person, by their last activity. What is in one quarter of an hour is sorted when it is read.
  `CREATE INDEX conversations_tenant ON troupe.conversations ((tenant || ''), active_slot DESC)`,
  `CREATE INDEX conversations_begun_by ON troupe.conversations ((tenant || ''), begun_by, active_slot DESC)`,
  // What people and agents said.
  `CREATE TABLE troupe.conversation_messages (
    tenant text NOT NULL,
    conversation text NOT NULL,
    seq int4 NOT NULL,
    role text NOT NULL,
    -- A JSON string, or an object where there is more to say than the text.
    content text NOT NULL,
    channel_origin text NOT NULL,
    tool_calls text,
    run_id uuid,
    created_at int8 NOT NULL,
    PRIMARY KEY (tenant, conversation, seq)
  )`,
  // Accepted messages. The task's id is the id of its run.
  `CREATE TABLE troupe.agent_tasks (
    id uuid PRIMARY KEY,
    tenant text NOT NULL,
    agent text NOT NULL,
    address_key text NOT NULL,
    conversation text NOT NULL,
    ordinal int4 NOT NULL,
    -- 0 pending, 1 processing, 2 complete, 3 failed.
    status int2 NOT NULL DEFAULT 0,
    reason text,
    idempotency_key text,
    message_id uuid NOT NULL UNIQUE,
    message text NOT NULL,
    -- A JSON string: the sender; an object where its roles are known.
    by text NOT NULL,
    -- A JSON string: the trace; an object where the span or the sampling is known.
    trace_id text NOT NULL,
    channel_origin text NOT NULL,
    created_at int8 NOT NULL,
    UNIQUE (tenant, conversation, ordinal)
  )`,
  // The same key is the same task.
  `CREATE UNIQUE INDEX agent_tasks_idempotency ON troupe.agent_tasks (idempotency_key, tenant) WHERE idempotency_key IS NOT NULL`,
  // The few tasks that stand in place of others (`is_branch`).
  `CREATE INDEX agent_tasks_branches ON troupe.agent_tasks (tenant, conversation, ordinal)
    WHERE trace_id LIKE '{%"branch":{"replaces":%'`,
  // The tasks that are found by what their senders posted, newest first (`is_posted`, `posted_digest`).
  String.raw`CREATE INDEX agent_tasks_posted ON troupe.agent_tasks (tenant,
      substring(trace_id FROM '^\{"trace_id":"[^"]*",(?:"agent":"[^"]*",)?"posted":"([0-9a-f]{64})"'), created_at DESC, id DESC)
    WHERE trace_id LIKE '{%"posted":"%'`,
  // The few tasks whose runs are forks (`is_fork`).
  `CREATE INDEX agent_tasks_forks ON troupe.agent_tasks (tenant) WHERE trace_id LIKE '{"trace_id":"%","forked":{"sender":"%'`,
  // The mailbox of an address is counted for each message.
  `CREATE INDEX agent_tasks_mailbox ON troupe.agent_tasks (address_key, agent, tenant) WHERE status < 2`,
  // A tenant's runs that are not over, newest first. It is written so that only the statement of that list uses it.
  `CREATE INDEX agent_tasks_open ON troupe.agent_tasks (tenant, (created_at + 0) DESC, id DESC) WHERE status + 1 < 3`,
  // A tenant's runs, newest first.
  `CREATE INDEX agent_tasks_newest ON troupe.agent_tasks (tenant, created_at DESC, id DESC)`,
  // Events by what names them. A second delivery of one finds its row.
  `CREATE TABLE troupe.event_inbox (
    tenant text NOT NULL,
    -- JSON strings.
    source text NOT NULL,
    event text NOT NULL,
    -- SHA-256 of what the event says, in hex.
    digest text NOT NULL,
    -- Absent = it queued no task.
    task uuid,
    conversation text,
    at int8 NOT NULL,
    PRIMARY KEY (event, source, tenant)
  )`,
  // The oldest, which are forgotten.
  `CREATE INDEX event_inbox_age ON troupe.event_inbox (at)`,
  // Where a conversation is held, beside the API.
  `CREATE TABLE troupe.channel_bindings (
    tenant text NOT NULL,
    conversation text NOT NULL,
    position int8 NOT NULL GENERATED ALWAYS AS IDENTITY,
    channel text NOT NULL,
    -- JSON strings: a place of the channel, whom it belongs to, and the channel's name of the conversation there.
    address text NOT NULL,
    recipient text NOT NULL,
    thread text,
    PRIMARY KEY (conversation, channel, address, tenant)
  )`,
  // The conversation of a thread.
  `CREATE UNIQUE INDEX channel_bindings_thread ON troupe.channel_bindings (thread, address, channel, tenant)
   WHERE thread IS NOT NULL`,
  // What people were told: the copy of it that is in the application.
  `CREATE TABLE troupe.notices (
    id uuid PRIMARY KEY,
    position int8 NOT NULL GENERATED ALWAYS AS IDENTITY,
    tenant text NOT NULL,
    -- A JSON string.
    recipient text NOT NULL,
    -- What it tells of: the same is told to one person once.
    about text NOT NULL,
    -- A JSON object.
    payload text NOT NULL,
    created_at int8 NOT NULL,
    read_at int8,
    UNIQUE (about, recipient, tenant)
  )`,
  // The list of a person, newest first: all, and those that were not read.
  `CREATE INDEX notices_newest ON troupe.notices (tenant, recipient, position DESC)`,
  `CREATE INDEX notices_unread ON troupe.notices (tenant, recipient, position DESC) WHERE read_at IS NULL`,
  // The oldest, which are removed.
  `CREATE INDEX notices_age ON troupe.notices (created_at)`,
  // Which channels a person wants, and what waits to be told together.
  `CREATE TABLE troupe.notice_preferences (
    tenant text NOT NULL,
    recipient text NOT NULL,
    -- A JSON object.
    payload text NOT NULL,
    PRIMARY KEY (recipient, tenant)
  )`,
  `CREATE TABLE troupe.digest_items (
    position int8 PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    tenant text NOT NULL,
    channel text NOT NULL,
    -- JSON strings.
    address text NOT NULL,
    recipient text NOT NULL,
    payload text NOT NULL,
    at int8 NOT NULL
  )`,
  // What waits for one address, oldest first; and which address waits longest.
  `CREATE INDEX digest_items_address ON troupe.digest_items (tenant, channel, address, position)`,
  `CREATE INDEX digest_items_age ON troupe.digest_items (at, position)`,
  // Where open questions stand in channels, whose messages are changed when they are settled.
  `CREATE TABLE troupe.question_posts (
    position int8 PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    tenant text NOT NULL,
    approval uuid NOT NULL,
    channel text NOT NULL,
    -- JSON strings: a place of the channel, whom it belongs to, and the channel's name of the message.
    address text NOT NULL,
    recipient text NOT NULL,
    post text NOT NULL,
    at int8 NOT NULL
  )`,
  `CREATE INDEX question_posts_approval ON troupe.question_posts (approval, tenant)`,
  `CREATE INDEX question_posts_age ON troupe.question_posts (at)`,
  // Puts a message at the end of its key. The message is for no agent.
  `CREATE FUNCTION troupe.announce(whose text, line text, subject text, content text, at int8)
RETURNS void LANGUAGE plpgsql ${by_key} AS $body$
#variable_conflict use_column
DECLARE
  spot int8 := nextval('troupe.outbox_place');
  turn int4;
BEGIN
  -- Not ahead of the database's clock, where a process with another clock would not take it yet.
  at := least(at, floor(extract(epoch FROM clock_timestamp()) * 1000)::int8);
  INSERT INTO troupe.outbox_keys AS k (tenant, key, seq, pending, due_at, place, topic, agent)
  VALUES (whose, line, 1, 1, at, spot, subject, '')
  ON CONFLICT (tenant, key) DO UPDATE SET seq = k.seq + 1, pending = k.pending + 1
  RETURNING k.seq INTO turn;
  INSERT INTO troupe.outbox (tenant, key, key_seq, id, place, topic, payload, created_at, replayed)
  VALUES (whose, line, turn, gen_random_uuid(), spot, subject, content, at, false);
  PERFORM pg_notify('troupe_outbox', '');
END $body$`,
  /*
   * Agents' answers in conversations that are bound: channels are looked up once for all answers of a statement (bench row
   * `answers`).
   */
  `CREATE FUNCTION troupe.announce_answer() RETURNS trigger LANGUAGE plpgsql ${by_key} ${once} AS $body$
BEGIN
  PERFORM troupe.announce(a.tenant, 'conversation/' || a.conversation, 'conversation.answered',
    json_build_object('conversation', a.conversation, 'seq', a.seq)::text, a.created_at)
  FROM added a WHERE a.role = 'assistant'
    AND EXISTS (SELECT FROM troupe.channel_bindings b WHERE b.conversation = a.conversation AND b.tenant = a.tenant);
  RETURN NULL;
END $body$`,
  `CREATE TRIGGER announce_answer AFTER INSERT ON troupe.conversation_messages REFERENCING NEW TABLE AS added
FOR EACH STATEMENT EXECUTE FUNCTION troupe.announce_answer()`,
  // A question of a run whose conversation is bound, and its end, also where it stands in a channel that is bound no more.
  `CREATE FUNCTION troupe.announce_question() RETURNS trigger LANGUAGE plpgsql ${by_key} AS $body$
DECLARE
  place text;
BEGIN
  SELECT d.conversation INTO place FROM troupe.run_details d WHERE d.run_id = NEW.run_id
    AND (EXISTS (SELECT FROM troupe.channel_bindings b WHERE b.conversation = d.conversation AND b.tenant = NEW.tenant)
      OR EXISTS (SELECT FROM troupe.question_posts q WHERE q.approval = NEW.id AND q.tenant = NEW.tenant));
  IF FOUND THEN
    PERFORM troupe.announce(NEW.tenant, 'conversation/' || place,
      CASE NEW.status WHEN 0 THEN 'conversation.asked' ELSE 'conversation.settled' END,
      json_build_object('conversation', place, 'approval', NEW.id)::text,
      floor(extract(epoch FROM clock_timestamp()) * 1000)::int8);
  END IF;
  RETURN NULL;
END $body$`,
  `CREATE TRIGGER announce_question AFTER INSERT ON troupe.approvals
FOR EACH ROW WHEN (NEW.status = 0) EXECUTE FUNCTION troupe.announce_question()`,
  `CREATE TRIGGER announce_settled AFTER UPDATE OF status ON troupe.approvals
FOR EACH ROW WHEN (OLD.status = 0 AND NEW.status <> 0) EXECUTE FUNCTION troupe.announce_question()`
]
