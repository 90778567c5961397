/**
 * Conversations, their messages, and the tasks that messages begin. All three are known within their tenant: two tenants
 * may use the same id.
 */

/**
 * A conversation with one address. The row's lock is what orders the tasks and messages of a conversation. Each of its messages
 * and answers writes it again: in the same page, so that no index is written.
 */
const conversations = [
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
    PRIMARY KEY (id, tenant)
  ) WITH (fillfactor = 70)`,
  // The lists of a tenant and of a person, newest first.
  `CREATE INDEX conversations_tenant ON troupe.conversations ((tenant || ''), created_at DESC, position DESC)`,
  `CREATE INDEX conversations_begun_by ON troupe.conversations ((tenant || ''), begun_by, created_at DESC, position DESC)`
]

/** What people and agents said. */
const messages = [
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
  )`
]

/** Accepted messages. The task's id is the id of its run. */
const tasks = [
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
  // The mailbox of an address is counted for each message.
  `CREATE INDEX agent_tasks_mailbox ON troupe.agent_tasks (address_key, agent, tenant) WHERE status < 2`,
  // A tenant's runs, newest first.
  `CREATE INDEX agent_tasks_newest ON troupe.agent_tasks (tenant, created_at DESC, id DESC)`
]

export const statements: ReadonlyArray<string> = [...conversations, ...messages, ...tasks]
