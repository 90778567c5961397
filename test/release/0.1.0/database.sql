CREATE SCHEMA troupe;
----
CREATE TABLE troupe.migrations (
  migration_id integer primary key,
  created_at timestamp with time zone not null default now(),
  name text not null
);
----
CREATE TABLE troupe.runs (
    run_id uuid PRIMARY KEY,
    tenant text NOT NULL,
    -- Raised by each claim. An append of an earlier epoch is refused.
    epoch int4 NOT NULL DEFAULT 0,
    -- Events of the run. An append that expects another length is refused.
    length int4 NOT NULL DEFAULT 0,
    -- -1 parked, 0 pending, 1 processing, 2 awaiting approval, 3 complete, 4 failed, 5 cancelled.
    -- 100 more in quarantine, so that what asks for a run that is not over (status < 3) finds none in quarantine.
    status int2 NOT NULL DEFAULT 0
  ) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
----
CREATE INDEX runs_moving ON troupe.runs (run_id) WHERE status > -1 AND status < 3;
----
CREATE INDEX runs_parked ON troupe.runs (run_id) WHERE status = -1;
----
CREATE TABLE troupe.run_details (
    run_id uuid PRIMARY KEY,
    tenant text NOT NULL,
    agent text NOT NULL,
    address_key text NOT NULL,
    conversation text NOT NULL,
    -- The run's place among those of its conversation, from 1.
    ordinal int4 NOT NULL,
    -- The process that claimed the run last. It has the run for as long as its lease in troupe.processes lasts.
    owner text,
    open boolean NOT NULL DEFAULT true,
    -- What a process must host to claim the run, beside the agent: agents, versions of agents, tools. Written when an
    -- owner lacks one of them, emptied by the next claim.
    needs text[] NOT NULL DEFAULT '{}',
    created_at int8 NOT NULL
  );
----
CREATE INDEX run_details_open ON troupe.run_details (tenant, agent, address_key, ordinal) WHERE open;
----
CREATE INDEX run_details_needs ON troupe.run_details (tenant) WHERE open AND needs <> '{}';
----
CREATE TABLE troupe.processes (
    owner text PRIMARY KEY,
    since timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- When it last extended its lease. Null = it has none.
    seen_at timestamptz,
    -- By the database's clock, the only one that all processes share.
    expires_at timestamptz NOT NULL,
    -- The owner holds an advisory lock in a session: it lives until another process finds the lock free.
    guarded boolean NOT NULL DEFAULT false,
    -- The agents that the process hosts.
    agents text[] NOT NULL DEFAULT '{}'
  );
----
CREATE TABLE troupe.quarantine (
    run_id uuid PRIMARY KEY,
    tenant text NOT NULL,
    reason text NOT NULL,
    -- The first event at fault.
    seq int4 NOT NULL,
    at int8 NOT NULL
  );
----
CREATE INDEX quarantine_tenant ON troupe.quarantine (tenant, at, run_id);
----
CREATE TABLE troupe.approvals (
    id uuid PRIMARY KEY,
    position int8 NOT NULL GENERATED ALWAYS AS IDENTITY,
    tenant text NOT NULL,
    run_id uuid NOT NULL,
    -- 0 pending, 1 decided, 2 expired, 3 cancelled.
    status int2 NOT NULL DEFAULT 0,
    expires_at int8,
    -- The question and its answer, as JSON objects.
    payload text NOT NULL,
    answer text
  );
----
CREATE INDEX approvals_tenant ON troupe.approvals (tenant, position);
----
CREATE INDEX approvals_pending ON troupe.approvals (tenant, position) WHERE status = 0;
----
CREATE INDEX approvals_run ON troupe.approvals (run_id);
----
CREATE INDEX approvals_due ON troupe.approvals (expires_at) WHERE status = 0 AND expires_at IS NOT NULL;
----
CREATE TABLE troupe.turn_costs (
    run_id uuid NOT NULL,
    seq int4 NOT NULL,
    -- One event may have several entries: a tool may spend on several models.
    part int2 NOT NULL DEFAULT 0,
    at int8 NOT NULL,
    tenant text NOT NULL,
    agent text NOT NULL,
    model text NOT NULL,
    -- Null for the cost of a turn.
    tool text,
    turns int8 NOT NULL DEFAULT 1,
    -- Both null where the price is not known.
    currency text,
    amount numeric,
    -- The version of the price list.
    prices text NOT NULL,
    input_tokens int8 NOT NULL,
    output_tokens int8 NOT NULL,
    cached_tokens int8 NOT NULL,
    cache_write_tokens int8 NOT NULL,
    reasoning_tokens int8 NOT NULL,
    PRIMARY KEY (run_id, seq, part)
  );
----
CREATE INDEX turn_costs_tenant ON troupe.turn_costs (tenant, at);
----
CREATE TABLE troupe.unknown_calls (
    run_id uuid NOT NULL,
    call text NOT NULL,
    tool text NOT NULL,
    tenant text NOT NULL,
    since int8 NOT NULL,
    PRIMARY KEY (run_id, call)
  );
----
CREATE INDEX unknown_calls_oldest ON troupe.unknown_calls (tenant, since, run_id, call);
----
CREATE TABLE troupe.run_pairs (
    run_id uuid NOT NULL,
    seq int4 NOT NULL,
    at int8 NOT NULL,
    -- Of the event $seq: null where no statement looks for it.
    type text,
    -- Canonical JSON. Never jsonb, which reorders keys: what is digested must come back byte for byte.
    payload text NOT NULL,
    -- The event $seq + 1, where it was appended with this one.
    next text,
    PRIMARY KEY (run_id, seq)
  );
----
CREATE INDEX run_pairs_handoffs ON troupe.run_pairs (run_id, seq) WHERE type = 'HandedOff';
----
CREATE FUNCTION troupe.is_sought(type text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $body$
    SELECT type IN ('ApprovalRequested', 'ClientRequested', 'ApprovalDecided', 'ApprovalClosed', 'RunStopping', 'HandedOff')
  $body$;
----
CREATE FUNCTION troupe.event_type(payload text) RETURNS text LANGUAGE sql IMMUTABLE AS $body$
    SELECT coalesce(substring(payload FROM '^{"_tag":"([^"]*)"'), '')
  $body$;
----
CREATE VIEW troupe.run_events WITH (security_invoker = true) AS
  SELECT p.run_id, e.seq, p.at, coalesce(e.type, troupe.event_type(e.payload)) AS type, e.payload
  FROM troupe.run_pairs p CROSS JOIN LATERAL
    (VALUES (p.seq, p.type, p.payload), (p.seq + 1, NULL, p.next)) AS e(seq, type, payload)
  WHERE e.payload IS NOT NULL;
----
CREATE FUNCTION troupe.write_event() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $body$
DECLARE
  rest text;
BEGIN
  IF TG_OP = 'INSERT' THEN
    IF EXISTS (SELECT FROM troupe.run_pairs p WHERE p.run_id = NEW.run_id AND p.seq = NEW.seq - 1 AND p.next IS NOT NULL) THEN
      RETURN NULL;
    END IF;
    INSERT INTO troupe.run_pairs (run_id, seq, at, type, payload)
    VALUES (NEW.run_id, NEW.seq, NEW.at, CASE WHEN troupe.is_sought(NEW.type) THEN NEW.type END, NEW.payload)
    ON CONFLICT DO NOTHING;
    RETURN CASE WHEN FOUND THEN NEW END;
  END IF;
  IF TG_OP = 'UPDATE' THEN
    UPDATE troupe.run_pairs p SET at = NEW.at, payload = CASE WHEN p.seq = OLD.seq THEN NEW.payload ELSE p.payload END,
      next = CASE WHEN p.seq = OLD.seq THEN p.next ELSE NEW.payload END
    WHERE p.run_id = OLD.run_id AND (p.seq = OLD.seq OR (p.seq = OLD.seq - 1 AND p.next IS NOT NULL));
    RETURN CASE WHEN FOUND THEN NEW END;
  END IF;
  UPDATE troupe.run_pairs p SET next = NULL
  WHERE p.run_id = OLD.run_id AND p.seq = OLD.seq - 1 AND p.next IS NOT NULL;
  IF NOT FOUND THEN
    DELETE FROM troupe.run_pairs p WHERE p.run_id = OLD.run_id AND p.seq = OLD.seq RETURNING p.next INTO rest;
    IF rest IS NOT NULL THEN
      INSERT INTO troupe.run_pairs (run_id, seq, at, payload) VALUES (OLD.run_id, OLD.seq + 1, OLD.at, rest);
    END IF;
  END IF;
  RETURN OLD;
END $body$;
----
CREATE TRIGGER write_event INSTEAD OF INSERT OR UPDATE OR DELETE ON troupe.run_events
    FOR EACH ROW EXECUTE FUNCTION troupe.write_event();
----
CREATE TABLE troupe.conversations (
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
  ) WITH (fillfactor = 70);
----
CREATE INDEX conversations_tenant ON troupe.conversations ((tenant || ''), active_slot DESC);
----
CREATE INDEX conversations_begun_by ON troupe.conversations ((tenant || ''), begun_by, active_slot DESC);
----
CREATE TABLE troupe.conversation_messages (
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
  );
----
CREATE TABLE troupe.agent_tasks (
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
  );
----
CREATE UNIQUE INDEX agent_tasks_idempotency ON troupe.agent_tasks (idempotency_key, tenant) WHERE idempotency_key IS NOT NULL;
----
CREATE INDEX agent_tasks_branches ON troupe.agent_tasks (tenant, conversation, ordinal)
    WHERE trace_id LIKE '{%"branch":{"replaces":%';
----
CREATE INDEX agent_tasks_posted ON troupe.agent_tasks (tenant,
      substring(trace_id FROM '^\{"trace_id":"[^"]*",(?:"agent":"[^"]*",)?"posted":"([0-9a-f]{64})"'), created_at DESC, id DESC)
    WHERE trace_id LIKE '{%"posted":"%';
----
CREATE INDEX agent_tasks_forks ON troupe.agent_tasks (tenant) WHERE trace_id LIKE '{"trace_id":"%","forked":{"sender":"%';
----
CREATE INDEX agent_tasks_mailbox ON troupe.agent_tasks (address_key, agent, tenant) WHERE status < 2;
----
CREATE INDEX agent_tasks_open ON troupe.agent_tasks (tenant, (created_at + 0) DESC, id DESC) WHERE status + 1 < 3;
----
CREATE INDEX agent_tasks_newest ON troupe.agent_tasks (tenant, created_at DESC, id DESC);
----
CREATE TABLE troupe.event_inbox (
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
  );
----
CREATE INDEX event_inbox_age ON troupe.event_inbox (at);
----
CREATE TABLE troupe.channel_bindings (
    tenant text NOT NULL,
    conversation text NOT NULL,
    position int8 NOT NULL GENERATED ALWAYS AS IDENTITY,
    channel text NOT NULL,
    -- JSON strings: a place of the channel, whom it belongs to, and the channel's name of the conversation there.
    address text NOT NULL,
    recipient text NOT NULL,
    thread text,
    PRIMARY KEY (conversation, channel, address, tenant)
  );
----
CREATE UNIQUE INDEX channel_bindings_thread ON troupe.channel_bindings (thread, address, channel, tenant)
   WHERE thread IS NOT NULL;
----
CREATE TABLE troupe.notices (
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
  );
----
CREATE INDEX notices_newest ON troupe.notices (tenant, recipient, position DESC);
----
CREATE INDEX notices_unread ON troupe.notices (tenant, recipient, position DESC) WHERE read_at IS NULL;
----
CREATE INDEX notices_age ON troupe.notices (created_at);
----
CREATE TABLE troupe.notice_preferences (
    tenant text NOT NULL,
    recipient text NOT NULL,
    -- A JSON object.
    payload text NOT NULL,
    PRIMARY KEY (recipient, tenant)
  );
----
CREATE TABLE troupe.digest_items (
    position int8 PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    tenant text NOT NULL,
    channel text NOT NULL,
    -- JSON strings.
    address text NOT NULL,
    recipient text NOT NULL,
    payload text NOT NULL,
    at int8 NOT NULL
  );
----
CREATE INDEX digest_items_address ON troupe.digest_items (tenant, channel, address, position);
----
CREATE INDEX digest_items_age ON troupe.digest_items (at, position);
----
CREATE TABLE troupe.question_posts (
    position int8 PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    tenant text NOT NULL,
    approval uuid NOT NULL,
    channel text NOT NULL,
    -- JSON strings: a place of the channel, whom it belongs to, and the channel's name of the message.
    address text NOT NULL,
    recipient text NOT NULL,
    post text NOT NULL,
    at int8 NOT NULL
  );
----
CREATE INDEX question_posts_approval ON troupe.question_posts (approval, tenant);
----
CREATE INDEX question_posts_age ON troupe.question_posts (at);
----
CREATE FUNCTION troupe.announce(whose text, line text, subject text, content text, at int8)
RETURNS void LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $body$
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
END $body$;
----
CREATE FUNCTION troupe.announce_answer() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan AS $body$
BEGIN
  PERFORM troupe.announce(a.tenant, 'conversation/' || a.conversation, 'conversation.answered',
    json_build_object('conversation', a.conversation, 'seq', a.seq)::text, a.created_at)
  FROM added a WHERE a.role = 'assistant'
    AND EXISTS (SELECT FROM troupe.channel_bindings b WHERE b.conversation = a.conversation AND b.tenant = a.tenant);
  RETURN NULL;
END $body$;
----
CREATE TRIGGER announce_answer AFTER INSERT ON troupe.conversation_messages REFERENCING NEW TABLE AS added
FOR EACH STATEMENT EXECUTE FUNCTION troupe.announce_answer();
----
CREATE FUNCTION troupe.announce_question() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $body$
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
END $body$;
----
CREATE TRIGGER announce_question AFTER INSERT ON troupe.approvals
FOR EACH ROW WHEN (NEW.status = 0) EXECUTE FUNCTION troupe.announce_question();
----
CREATE TRIGGER announce_settled AFTER UPDATE OF status ON troupe.approvals
FOR EACH ROW WHEN (OLD.status = 0 AND NEW.status <> 0) EXECUTE FUNCTION troupe.announce_question();
----
CREATE SEQUENCE troupe.outbox_place;
----
CREATE TABLE troupe.outbox_keys (
    tenant text NOT NULL,
    key text NOT NULL,
    -- The last message's key_seq.
    seq int4 NOT NULL DEFAULT 0,
    -- Messages that wait.
    pending int4 NOT NULL DEFAULT 0,
    -- When the first message may be claimed (again): the time of its next attempt, or the end of the claim's lease.
    due_at int8 NOT NULL DEFAULT 0,
    -- Place, topic and agent of the first message.
    place int8 NOT NULL DEFAULT 0,
    topic text NOT NULL DEFAULT '',
    agent text NOT NULL DEFAULT '',
    PRIMARY KEY (tenant, key)
  ) WITH (fillfactor = 70);
----
CREATE INDEX outbox_keys_turn ON troupe.outbox_keys (topic, agent, (tenant || ''), due_at, place);
----
CREATE INDEX outbox_keys_due ON troupe.outbox_keys (topic, agent, due_at);
----
CREATE TABLE troupe.outbox (
    tenant text NOT NULL,
    key text NOT NULL,
    key_seq int4 NOT NULL,
    id uuid NOT NULL UNIQUE,
    place int8 NOT NULL,
    topic text NOT NULL,
    -- The agent that the message is for; empty = for none.
    agent text NOT NULL DEFAULT '',
    payload text NOT NULL,
    attempts int4 NOT NULL DEFAULT 0,
    created_at int8 NOT NULL,
    -- An operator sent it again: it was a dead letter.
    replayed boolean NOT NULL,
    lease_owner text,
    -- JSON objects, the newest last.
    failures text[] NOT NULL DEFAULT '{}',
    PRIMARY KEY (tenant, key, key_seq)
  );
----
CREATE TABLE troupe.dead_letters (
    event_id uuid PRIMARY KEY,
    tenant text NOT NULL,
    -- The message's topic.
    handler_name text NOT NULL,
    agent text NOT NULL DEFAULT '',
    key text NOT NULL,
    payload text NOT NULL,
    attempts int4 NOT NULL,
    failures text[] NOT NULL,
    dead_at int8 NOT NULL,
    place int8 NOT NULL,
    -- 0 dead, 1 replayed, 2 discarded.
    status int2 NOT NULL DEFAULT 0,
    resolved_by text,
    resolved_at int8,
    resolved_reason text
  );
----
CREATE INDEX dead_letters_newest ON troupe.dead_letters (tenant, status, dead_at DESC, place DESC);
----
CREATE FUNCTION troupe.take_outbox(claimer text, at int8, until int8, topics text[], agents text[], whose text)
RETURNS SETOF troupe.outbox LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $body$
DECLARE
  first record;
BEGIN
  SELECT x.* INTO first FROM unnest(topics) t(topic) CROSS JOIN unnest(agents) a(agent) CROSS JOIN LATERAL (
    SELECT k.key, k.due_at, k.place FROM troupe.outbox_keys k
    WHERE k.topic = t.topic AND k.agent = a.agent AND k.tenant || '' = whose AND k.due_at <= at
    ORDER BY k.due_at, k.place LIMIT 1 FOR UPDATE SKIP LOCKED) x
  ORDER BY x.due_at, x.place LIMIT 1;
  IF NOT FOUND THEN RETURN; END IF;
  UPDATE troupe.outbox_keys k SET due_at = until
  WHERE k.tenant = whose AND k.key = first.key;
  RETURN QUERY UPDATE troupe.outbox o SET attempts = o.attempts + 1, lease_owner = claimer
    WHERE o.id = (SELECT m.id FROM troupe.outbox m WHERE m.tenant = whose AND m.key = first.key
      ORDER BY m.key_seq LIMIT 1)
    RETURNING o.*;
END $body$;
----
CREATE FUNCTION troupe.claim_outbox(claimer text, at int8, until int8, topics text[], agents text[],
  wanted int4, behind text, room int4, busy text[], rooms int4[])
RETURNS SETOF troupe.outbox LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $body$
DECLARE
  whose text := behind;
  wrapped boolean := false;
  taken int4 := 0;
  free int4;
  -- The tenants that gave a message, and how many more each may give.
  tenants text[] := '{}';
  places int4[] := '{}';
  found_any boolean := true;
BEGIN
  WHILE taken < wanted LOOP
    SELECT min(x.tenant) INTO whose FROM unnest(topics) t(topic) CROSS JOIN unnest(agents) a(agent) CROSS JOIN LATERAL (
      SELECT k.tenant FROM troupe.outbox_keys k
      WHERE k.topic = t.topic AND k.agent = a.agent AND k.tenant || '' > whose ORDER BY k.tenant || '' LIMIT 1) x;
    IF whose IS NULL THEN
      EXIT WHEN wrapped OR behind = '';
      wrapped := true;
      whose := '';
      CONTINUE;
    END IF;
    EXIT WHEN wrapped AND whose > behind;
    free := coalesce(rooms[array_position(busy, whose)], room);
    CONTINUE WHEN free < 1;
    RETURN QUERY SELECT * FROM troupe.take_outbox(claimer, at, until, topics, agents, whose);
    IF FOUND THEN
      taken := taken + 1;
      tenants := tenants || whose;
      places := places || (free - 1);
    END IF;
  END LOOP;
  WHILE found_any AND taken < wanted LOOP
    found_any := false;
    FOR i IN 1 .. cardinality(tenants) LOOP
      EXIT WHEN taken >= wanted;
      CONTINUE WHEN places[i] < 1;
      RETURN QUERY SELECT * FROM troupe.take_outbox(claimer, at, until, topics, agents, tenants[i]);
      IF FOUND THEN
        taken := taken + 1;
        places[i] := places[i] - 1;
        found_any := true;
      ELSE
        places[i] := 0;
      END IF;
    END LOOP;
  END LOOP;
END $body$;
----
CREATE FUNCTION troupe.accept_messages(
  ids uuid[], messages uuid[], tenants text[], agents text[], address_keys text[], conversations text[],
  contents text[], senders text[], traces text[], channels text[], initiators text[], triggers text[], beginners text[],
  keys text[], rooms int4[], times int8[], outbox_keys text[], owners text[], accepted text[], claimed text[],
  claims text[], ends int8[], titles text[], notes text[], answers text[], afters int4[], waits boolean)
RETURNS TABLE (place int4, outcome text, ordinal int4, begun boolean, held boolean, waiting int4, earlier text)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $body$
#variable_conflict use_column
DECLARE
  x record;
  count int4 := cardinality(ids);
  -- By place.
  outcomes text[] := array_fill(NULL::text, ARRAY[count]);
  earliers text[] := array_fill(NULL::text, ARRAY[count]);
  counts int4[];
  ordinals int4[] := array_fill(NULL::int4, ARRAY[count]);
  -- Of the user's message in its conversation.
  spots int4[] := array_fill(NULL::int4, ARRAY[count]);
  begins boolean[] := array_fill(false, ARRAY[count]);
  holds boolean[] := array_fill(false, ARRAY[count]);
  -- Does its conversation exist, and is that locked here? Is it to be made? Is another transaction in the way?
  known boolean[] := array_fill(false, ARRAY[count]);
  fresh boolean[] := array_fill(false, ARRAY[count]);
  left_out boolean[] := array_fill(false, ARRAY[count]);
  has_known boolean := false;
  has_fresh boolean := false;
  has_begun boolean := false;
  has_waiting boolean := false;
  wakes boolean := false;
  made text[];
  line int8;
  turn int4;
BEGIN
  -- Of the same key sent twice at once one waits for the other, whatever conversation it is for.
  IF '' <> ANY (keys) THEN
    FOR x IN SELECT k.place::int4 AS place, k.lock FROM (
        SELECT u.place, u.key, hashtextextended('troupe task ' || u.tenant || ' ' || u.key, 0) AS lock
        FROM unnest(tenants, keys) WITH ORDINALITY AS u(tenant, key, place)) k
      WHERE k.key <> '' ORDER BY k.lock
    LOOP
      IF waits THEN PERFORM pg_advisory_xact_lock(x.lock);
      ELSE left_out[x.place] := NOT pg_try_advisory_xact_lock(x.lock);
      END IF;
    END LOOP;
    FOR x IN SELECT u.place::int4 AS place, t.id::text AS id,
        t.message = u.content AND t.conversation = u.conversation AND t.agent = u.agent AS same
      FROM unnest(tenants, keys, contents, conversations, agents) WITH ORDINALITY
          AS u(tenant, key, content, conversation, agent, place)
        CROSS JOIN LATERAL (SELECT t.id, t.message, t.conversation, t.agent FROM troupe.agent_tasks t
          WHERE t.idempotency_key = u.key AND t.tenant IS NOT DISTINCT FROM u.tenant OFFSET 0) t
      WHERE u.key <> ''
    LOOP
      CONTINUE WHEN left_out[x.place];
      outcomes[x.place] := CASE WHEN x.same THEN 'known' ELSE 'other_message' END;
      earliers[x.place] := x.id;
    END LOOP;
  END IF;
  -- The conversation's row orders its tasks and messages.
  IF waits THEN
    PERFORM FROM unnest(tenants, conversations) AS u(tenant, conversation) CROSS JOIN LATERAL (
      SELECT FROM troupe.conversations c WHERE c.id = u.conversation AND c.tenant = u.tenant FOR UPDATE) c;
  END IF;
  FOR x IN SELECT u.place::int4 AS place, l.agent IS NOT NULL AS is_locked,
      l.agent <> u.agent OR l.address_key <> u.address_key AS moved, u.after >= 0 AND l.tasks <> u.after AS overtaken
    FROM unnest(tenants, conversations, agents, address_keys, afters) WITH ORDINALITY
        AS u(tenant, conversation, agent, address_key, after, place)
      CROSS JOIN LATERAL (SELECT FROM troupe.conversations c WHERE c.id = u.conversation AND c.tenant = u.tenant OFFSET 0) c
      LEFT JOIN LATERAL (SELECT c.agent, c.address_key, c.tasks FROM troupe.conversations c
        WHERE c.id = u.conversation AND c.tenant = u.tenant FOR UPDATE SKIP LOCKED) l ON true
  LOOP
    -- An INSERT would wait for one that is there and that another transaction holds.
    IF NOT x.is_locked THEN left_out[x.place] := true;
    ELSE
      known[x.place] := true;
      IF outcomes[x.place] IS NULL THEN
        outcomes[x.place] := CASE WHEN x.moved THEN 'other_address' WHEN x.overtaken THEN 'overtaken' END;
      END IF;
    END IF;
  END LOOP;
  -- Counted no further than it matters.
  counts := ARRAY (SELECT (SELECT count(*)::int4 FROM (
      SELECT FROM troupe.agent_tasks t
      WHERE t.address_key = u.address_key AND t.agent IS NOT DISTINCT FROM u.agent AND t.tenant IS NOT DISTINCT FROM u.tenant
        AND t.status < 2 LIMIT greatest(u.room, 1)) w)
    FROM unnest(tenants, agents, address_keys, rooms) WITH ORDINALITY AS u(tenant, agent, address_key, room, place)
    ORDER BY u.place);
  FOR i IN 1 .. count LOOP
    IF outcomes[i] IS NULL AND NOT left_out[i] AND counts[i] >= rooms[i] AND (rooms[i] >= 0 OR known[i]) THEN
      outcomes[i] := 'full';
    END IF;
    IF left_out[i] OR outcomes[i] IS NOT NULL THEN known[i] := false;
    ELSIF known[i] THEN has_known := true;
    ELSE
      fresh[i] := true;
      has_fresh := true;
    END IF;
  END LOOP;
  IF has_known THEN
    FOR x IN UPDATE troupe.conversations c SET tasks = c.tasks + 1, messages = c.messages + 1 + (u.answer <> '')::int4,
        active_at = greatest(c.active_at, u.at)
      FROM unnest(tenants, conversations, times, known, answers) WITH ORDINALITY
        AS u(tenant, conversation, at, known, answer, place)
      WHERE u.known AND c.id = u.conversation AND c.tenant = u.tenant AND c.id = ANY (conversations)
      RETURNING u.place::int4 AS place, c.tasks, c.messages - 1 - (u.answer <> '')::int4 AS spot
    LOOP
      ordinals[x.place] := x.tasks;
      spots[x.place] := x.spot;
    END LOOP;
  END IF;
  IF has_fresh THEN
    WITH made AS (
      INSERT INTO troupe.conversations AS c
        (id, tenant, agent, address_key, initiated_by, trigger_event_id, created_at, begun_by, tasks, messages, active_at,
          title, metadata)
      SELECT u.conversation, u.tenant, u.agent, u.address_key, u.initiator, nullif(u.trigger, ''), u.at, u.beginner, 1,
        1 + (u.answer <> '')::int4, u.at, nullif(u.title, ''), nullif(u.note, '')
      FROM unnest(conversations, tenants, agents, address_keys, initiators, triggers, times, beginners, titles, notes, answers,
          fresh)
        AS u(conversation, tenant, agent, address_key, initiator, trigger, at, beginner, title, note, answer, fresh)
      -- In their order, because one that another transaction makes just now is waited for.
      WHERE u.fresh ORDER BY u.tenant, u.conversation
      ON CONFLICT DO NOTHING
      RETURNING c.tenant || '/' || c.id || '/' || c.agent || '/' || c.address_key AS name)
    SELECT coalesce(array_agg(m.name), '{}') INTO made FROM made m;
    FOR i IN 1 .. count LOOP
      -- Otherwise another transaction has it, and the task is left out.
      IF fresh[i] AND tenants[i] || '/' || conversations[i] || '/' || agents[i] || '/' || address_keys[i] = ANY (made) THEN
        ordinals[i] := 1;
        spots[i] := 0;
      END IF;
    END LOOP;
  END IF;
  FOR i IN 1 .. count LOOP
    CONTINUE WHEN ordinals[i] IS NULL;
    outcomes[i] := 'created';
    -- Elsewhere two conversations of one address might begin their runs at the same moment.
    begins[i] := owners[i] <> '' AND counts[i] = 0 AND address_keys[i] = conversations[i];
    IF begins[i] THEN has_begun := true;
    ELSE has_waiting := true;
    END IF;
  END LOOP;
  IF has_begun OR has_waiting THEN
    INSERT INTO troupe.conversation_messages (tenant, conversation, seq, role, content, channel_origin, run_id, created_at)
    SELECT u.tenant, u.conversation, u.spot, CASE u.trigger WHEN '' THEN 'user' ELSE 'system' END, u.content, u.channel, u.id, u.at
    FROM unnest(tenants, conversations, spots, triggers, contents, channels, ids, times)
      AS u(tenant, conversation, spot, trigger, content, channel, id, at)
    WHERE u.spot IS NOT NULL;
    IF '' <> ANY (answers) THEN
      INSERT INTO troupe.conversation_messages (tenant, conversation, seq, role, content, channel_origin, run_id, created_at)
      SELECT u.tenant, u.conversation, u.spot + 1, 'assistant', u.answer, u.channel, u.id, u.at
      FROM unnest(tenants, conversations, spots, answers, channels, ids, times)
        AS u(tenant, conversation, spot, answer, channel, id, at)
      WHERE u.spot IS NOT NULL AND u.answer <> '';
    END IF;
    INSERT INTO troupe.agent_tasks (id, tenant, agent, address_key, conversation, ordinal, idempotency_key, message, by,
      trace_id, channel_origin, created_at, message_id, status)
    SELECT u.id, u.tenant, u.agent, u.address_key, u.conversation, u.ordinal, nullif(u.key, ''), u.content, u.sender,
      u.trace, u.channel, u.at, u.message, u.begins::int4
    FROM unnest(ids, tenants, agents, address_keys, conversations, ordinals, keys, contents, senders, traces, channels, times,
        messages, begins)
      AS u(id, tenant, agent, address_key, conversation, ordinal, key, content, sender, trace, channel, at, message, begins)
    WHERE u.ordinal IS NOT NULL;
  END IF;
  IF has_begun THEN
    INSERT INTO troupe.runs (run_id, tenant, epoch, length, status)
    SELECT u.id, u.tenant, 1, 2, 1 FROM unnest(ids, tenants, begins) AS u(id, tenant, begins) WHERE u.begins;
    INSERT INTO troupe.run_details (run_id, tenant, agent, address_key, conversation, ordinal, owner, created_at)
    SELECT u.id, u.tenant, u.agent, u.address_key, u.conversation, u.ordinal, u.owner, u.at
    FROM unnest(ids, tenants, agents, address_keys, conversations, ordinals, owners, times, begins)
      AS u(id, tenant, agent, address_key, conversation, ordinal, owner, at, begins)
    WHERE u.begins;
    INSERT INTO troupe.run_pairs (run_id, seq, at, payload, next)
    SELECT u.id, 0, u.at, u.accepted, u.claimed
    FROM unnest(ids, times, accepted, claimed, begins) AS u(id, at, accepted, claimed, begins)
    WHERE u.begins;
  END IF;
  IF has_waiting THEN
    FOR x IN SELECT u.*, u.n::int4 AS spot FROM unnest(ids, messages, tenants, agents, outbox_keys, times, claims, ends)
        WITH ORDINALITY AS u(id, message, tenant, agent, outbox_key, at, claim, until, n)
      ORDER BY u.tenant, u.outbox_key
    LOOP
      CONTINUE WHEN ordinals[x.spot] IS NULL OR begins[x.spot];
      -- What a process accepts whose clock is ahead is due at once.
      x.at := least(x.at, floor(extract(epoch FROM clock_timestamp()) * 1000)::int8);
      line := nextval('troupe.outbox_place');
      held := x.claim <> '' AND counts[x.spot] = 0;
      -- A row without messages is one that its transaction has not deleted yet: none is ever committed.
      INSERT INTO troupe.outbox_keys AS k (tenant, key, seq, pending, due_at, place, topic, agent)
      VALUES (x.tenant, x.outbox_key, 1, 1, CASE WHEN held THEN x.until ELSE x.at END, line,
        'agent.task.dispatched', x.agent)
      ON CONFLICT (tenant, key) DO UPDATE SET seq = k.seq + 1, pending = k.pending + 1
      RETURNING k.seq, held AND k.pending = 1 INTO turn, held;
      INSERT INTO troupe.outbox
        (tenant, key, key_seq, id, place, topic, agent, payload, attempts, created_at, replayed, lease_owner)
      VALUES (x.tenant, x.outbox_key, turn, x.message, line, 'agent.task.dispatched', x.agent,
        '{"task_id":"' || x.id || '"}', held::int4, x.at, false, CASE WHEN held THEN x.claim END);
      holds[x.spot] := held;
      wakes := wakes OR NOT held;
    END LOOP;
    IF wakes THEN PERFORM pg_notify('troupe_outbox', ''); END IF;
  END IF;
  RETURN QUERY SELECT u.place::int4, u.outcome, u.ordinal, u.begins, u.holds, u.waiting, u.earlier
    FROM unnest(outcomes, ordinals, begins, holds, counts, earliers) WITH ORDINALITY
      AS u(outcome, ordinal, begins, holds, waiting, earlier, place)
    WHERE u.outcome IS NOT NULL;
END $body$;
----
CREATE FUNCTION troupe.begin_runs(
  ids text[], messages text[], claims text[], tenants text[], agents text[], address_keys text[], conversations text[],
  ordinals int4[], owners text[], times text[], accepted text[], claimed text[], outbox_keys text[], waits boolean)
RETURNS TABLE (place int4, begun boolean) LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $body$
#variable_conflict use_column
DECLARE
  x record;
  -- The next message of the key.
  n record;
  gone int4;
  wakes boolean := false;
BEGIN
  FOR x IN SELECT u.*, u.n::int4 AS place, u.at::int8 AS begun_at, u.id::uuid AS run FROM unnest(ids, messages, claims, tenants,
      agents, address_keys, conversations, ordinals, owners, times, accepted, claimed, outbox_keys)
      WITH ORDINALITY AS u(id, message, claim, tenant, agent, address_key, conversation, ordinal, owner, at, accepted, claimed,
      outbox_key, n)
    ORDER BY u.tenant, u.outbox_key
  LOOP
    -- The key before its messages, as everybody does.
    IF waits THEN
      PERFORM FROM troupe.outbox_keys k WHERE k.tenant = x.tenant AND k.key = x.outbox_key FOR UPDATE;
    ELSE
      PERFORM FROM troupe.outbox_keys k WHERE k.tenant = x.tenant AND k.key = x.outbox_key FOR UPDATE SKIP LOCKED;
      CONTINUE WHEN NOT FOUND;
    END IF;
    place := x.place;
    begun := false;
    DELETE FROM troupe.outbox o WHERE o.id = x.message::uuid AND o.lease_owner = x.claim RETURNING o.key_seq INTO gone;
    IF NOT FOUND THEN
      RETURN NEXT;
      CONTINUE;
    END IF;
    SELECT o.created_at, o.place, o.topic, o.agent INTO n FROM troupe.outbox o
    WHERE o.tenant = x.tenant AND o.key = x.outbox_key AND o.key_seq > gone ORDER BY o.key_seq LIMIT 1;
    IF FOUND THEN
      UPDATE troupe.outbox_keys k SET pending = k.pending - 1, due_at = n.created_at, place = n.place, topic = n.topic,
        agent = n.agent
      WHERE k.tenant = x.tenant AND k.key = x.outbox_key;
      wakes := true;
    ELSE
      DELETE FROM troupe.outbox_keys k WHERE k.tenant = x.tenant AND k.key = x.outbox_key;
    END IF;
    INSERT INTO troupe.runs (run_id, tenant, epoch, length, status) VALUES (x.run, x.tenant, 1, 2, 1) ON CONFLICT DO NOTHING;
    begun := FOUND;
    RETURN NEXT;
    CONTINUE WHEN NOT begun;
    INSERT INTO troupe.run_details (run_id, tenant, agent, address_key, conversation, ordinal, owner, created_at)
    VALUES (x.run, x.tenant, x.agent, x.address_key, x.conversation, x.ordinal, x.owner, x.begun_at);
    INSERT INTO troupe.run_pairs (run_id, seq, at, payload, next)
    VALUES (x.run, 0, x.begun_at, x.accepted, x.claimed);
    UPDATE troupe.agent_tasks t SET status = 1 WHERE t.id = x.run AND t.status + 0 = 0;
  END LOOP;
  IF wakes THEN PERFORM pg_notify('troupe_outbox', ''); END IF;
END $body$;
----
CREATE TABLE troupe.budget_accounts (
    tenant text NOT NULL,
    budget text NOT NULL,
    -- A JSON string: a customer, a conversation, an agent, or empty.
    holder text NOT NULL,
    -- The period. Without an end it never ends.
    starts_at int8 NOT NULL,
    ends_at int8,
    scope text NOT NULL,
    unit text NOT NULL,
    -- Without what is settled since the last reservation.
    spent numeric NOT NULL DEFAULT 0,
    -- The sum of its reservations.
    held numeric NOT NULL DEFAULT 0,
    PRIMARY KEY (holder, budget, starts_at, tenant)
  ) WITH (fillfactor = 70);
----
CREATE INDEX budget_accounts_tenant ON troupe.budget_accounts (tenant, budget, holder);
----
CREATE INDEX budget_accounts_ended ON troupe.budget_accounts (ends_at) WHERE ends_at IS NOT NULL;
----
CREATE TABLE troupe.budget_holds (
    run_id uuid NOT NULL,
    -- The call within its run.
    place text NOT NULL,
    tenant text NOT NULL,
    budget text NOT NULL,
    holder text NOT NULL,
    starts_at int8 NOT NULL,
    unit text NOT NULL,
    reserved numeric NOT NULL,
    -- What it took. Null until the journal has its end.
    settled numeric,
    PRIMARY KEY (run_id, place, budget)
  ) WITH (fillfactor = 70);
----
CREATE INDEX budget_holds_account ON troupe.budget_holds (holder, budget, starts_at, tenant);
----
CREATE FUNCTION troupe.reserve_budgets(wanted json)
RETURNS TABLE (call int4, line int4, spent text, reserved text) LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $body$
#variable_conflict use_column
DECLARE
  each record;
  short record;
BEGIN
  INSERT INTO troupe.budget_accounts (tenant, budget, holder, starts_at, ends_at, scope, unit)
  SELECT DISTINCT ON (l.holder, l.budget, l.starts_at, l.tenant) l.tenant, l.budget, l.holder, l.starts_at, l.ends_at, l.scope, l.unit
  FROM json_array_elements(wanted) AS w(value), json_to_recordset(w.value -> 'lines') AS l(line int4, tenant text, budget text, holder text, starts_at int8, ends_at int8, scope text, unit text,
      amount numeric, most numeric)
  ORDER BY l.holder, l.budget, l.starts_at, l.tenant ON CONFLICT DO NOTHING;
  PERFORM FROM troupe.budget_accounts a JOIN (
    SELECT DISTINCT ON (l.holder, l.budget, l.starts_at, l.tenant) l.tenant, l.budget, l.holder, l.starts_at
    FROM json_array_elements(wanted) AS w(value), json_to_recordset(w.value -> 'lines') AS l(line int4, tenant text, budget text, holder text, starts_at int8, ends_at int8, scope text, unit text,
      amount numeric, most numeric)
    ORDER BY l.holder, l.budget, l.starts_at, l.tenant) k ON a.holder = k.holder AND a.budget = k.budget AND a.starts_at = k.starts_at AND a.tenant = k.tenant ORDER BY k.holder, k.budget, k.starts_at, k.tenant FOR UPDATE OF a;
  -- What others committed before the locks is seen from here on.
  WITH k AS MATERIALIZED (
    SELECT DISTINCT l.tenant, l.budget, l.holder, l.starts_at
    FROM json_array_elements(wanted) AS w(value), json_to_recordset(w.value -> 'lines') AS l(line int4, tenant text, budget text, holder text, starts_at int8, ends_at int8, scope text, unit text,
      amount numeric, most numeric)),
  gone AS (
    DELETE FROM troupe.budget_holds h USING k WHERE h.holder = k.holder AND h.budget = k.budget AND h.starts_at = k.starts_at AND h.tenant = k.tenant AND (h.settled IS NOT NULL OR NOT EXISTS (
      SELECT FROM troupe.runs r WHERE r.run_id = h.run_id AND NOT r.status + 0 BETWEEN 3 AND 5))
    RETURNING h.tenant, h.budget, h.holder, h.starts_at, h.reserved, h.settled),
  sums AS (
    SELECT g.tenant, g.budget, g.holder, g.starts_at, sum(g.reserved) AS reserved, sum(g.settled) AS settled
    FROM gone g GROUP BY 1, 2, 3, 4)
  UPDATE troupe.budget_accounts a SET spent = a.spent + coalesce(s.settled, 0), held = a.held - s.reserved
  FROM sums s WHERE a.holder = s.holder AND a.budget = s.budget AND a.starts_at = s.starts_at AND a.tenant = s.tenant;
  FOR each IN SELECT (w.value ->> 'run')::uuid AS run, w.value ->> 'place' AS place, w.value -> 'lines' AS lines, w.n::int4 AS n
    FROM json_array_elements(wanted) WITH ORDINALITY AS w(value, n) ORDER BY w.n
  LOOP
    SELECT l.line, a.spent, a.held INTO short FROM json_to_recordset(each.lines) AS l(line int4, tenant text, budget text, holder text, starts_at int8, ends_at int8, scope text, unit text,
      amount numeric, most numeric)
    JOIN troupe.budget_accounts a ON a.holder = l.holder AND a.budget = l.budget AND a.starts_at = l.starts_at AND a.tenant = l.tenant
    WHERE a.spent + a.held + l.amount > l.most AND NOT EXISTS (SELECT FROM troupe.budget_holds h
      WHERE h.run_id = each.run AND h.place = each.place AND h.budget = l.budget)
    ORDER BY l.line LIMIT 1;
    IF FOUND THEN
      call := each.n;
      line := short.line;
      spent := trim_scale(short.spent)::text;
      reserved := trim_scale(short.held)::text;
      RETURN NEXT;
      CONTINUE;
    END IF;
    WITH made AS (
      INSERT INTO troupe.budget_holds (run_id, place, tenant, budget, holder, starts_at, unit, reserved)
      SELECT each.run, each.place, l.tenant, l.budget, l.holder, l.starts_at, l.unit, l.amount
      FROM json_to_recordset(each.lines) AS l(line int4, tenant text, budget text, holder text, starts_at int8, ends_at int8, scope text, unit text,
      amount numeric, most numeric) ON CONFLICT DO NOTHING
      RETURNING tenant, budget, holder, starts_at, reserved)
    UPDATE troupe.budget_accounts a SET held = a.held + m.reserved FROM made m WHERE a.holder = m.holder AND a.budget = m.budget AND a.starts_at = m.starts_at AND a.tenant = m.tenant;
  END LOOP;
END $body$;
----
CREATE FUNCTION troupe.settle_budgets(run uuid, took json) RETURNS void LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $body$
BEGIN
  UPDATE troupe.budget_holds h SET settled = coalesce(
    CASE h.unit WHEN 'calls' THEN x.calls WHEN 'tokens' THEN x.tokens ELSE x.cost END, h.reserved)
  FROM json_to_recordset(took -> 'settled') AS x(place text, calls numeric, tokens numeric, cost numeric)
  WHERE h.run_id = run AND h.place = x.place AND h.settled IS NULL;
  INSERT INTO troupe.budget_holds (run_id, place, tenant, budget, holder, starts_at, unit, reserved, settled)
  SELECT run, x.place, x.tenant, x.budget, x.holder, x.starts_at, x.unit, 0, x.amount
  FROM json_to_recordset(took -> 'charged') AS x(place text, tenant text, budget text, holder text, starts_at int8, unit text,
    amount numeric) ON CONFLICT DO NOTHING;
END $body$;
----
CREATE FUNCTION troupe.append_projection(run uuid, base int4, at int8, projection json)
RETURNS void LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $body$
DECLARE
  p record;
  detail record;
  place int4;
BEGIN
  SELECT * INTO p FROM json_to_record(projection) AS x(asked json, answered json, task_status int2, task_reason text,
    closed boolean, answer text, costs json, known json, unknown json, took json);
  SELECT d.tenant, d.conversation INTO detail FROM troupe.run_details d WHERE d.run_id = run;
  -- Questions for a person.
  IF p.asked IS NOT NULL THEN
    INSERT INTO troupe.approvals (id, tenant, run_id, expires_at, payload)
    SELECT x.id, detail.tenant, run, x.expires_at, x.payload
    FROM json_to_recordset(p.asked) AS x(id uuid, expires_at int8, payload text);
  END IF;
  -- A question that was answered or closed before is left as it is.
  IF p.answered IS NOT NULL THEN
    UPDATE troupe.approvals a SET status = x.status, answer = x.answer
    FROM json_to_recordset(p.answered) AS x(id uuid, status int2, answer text)
    WHERE a.run_id = run AND a.id = x.id AND a.status + 0 = 0;
  END IF;
  -- A task that is over stays as it is.
  IF p.task_status IS NOT NULL THEN
    UPDATE troupe.agent_tasks t SET status = p.task_status, reason = p.task_reason WHERE t.id = run AND t.status + 0 < 2;
  END IF;
  -- The run is over: the next run of its address may begin.
  IF p.closed THEN
    UPDATE troupe.run_details d SET open = false WHERE d.run_id = run;
  END IF;
  -- The assistant's message, at the end of the conversation.
  IF p.answer IS NOT NULL THEN
    UPDATE troupe.conversations c SET messages = c.messages + 1, active_at = greatest(c.active_at, at)
    WHERE c.id = detail.conversation AND c.tenant = detail.tenant RETURNING c.messages - 1 INTO place;
    INSERT INTO troupe.conversation_messages (tenant, conversation, seq, role, content, channel_origin, run_id, created_at)
    SELECT detail.tenant, detail.conversation, place, 'assistant', p.answer,
      coalesce((SELECT t.channel_origin FROM troupe.agent_tasks t WHERE t.id = run), 'api'), run, at
    WHERE place IS NOT NULL;
  END IF;
  -- What turns cost, and what tools spent on models.
  IF p.costs IS NOT NULL THEN
    INSERT INTO troupe.turn_costs (run_id, seq, part, at, tenant, agent, model, tool, turns, currency, amount, prices,
      input_tokens, output_tokens, cached_tokens, cache_write_tokens, reasoning_tokens)
    SELECT run, base + x.position, x.part, at, detail.tenant, x.agent, x.model, x.tool, x.turns, x.currency, x.amount, x.prices,
      x.input_tokens, x.output_tokens, x.cached_tokens, x.cache_write_tokens, x.reasoning_tokens
    FROM json_to_recordset(p.costs) AS x(position int4, part int2, agent text, model text, tool text, turns int8,
      currency text, amount numeric, prices text,
      input_tokens int8, output_tokens int8, cached_tokens int8, cache_write_tokens int8, reasoning_tokens int8);
  END IF;
  IF p.took IS NOT NULL THEN
    PERFORM troupe.settle_budgets(run, p.took);
  END IF;
  -- Calls whose outcome is not unknown any more, then those that became unknown.
  IF p.known IS NOT NULL THEN
    DELETE FROM troupe.unknown_calls u USING json_to_recordset(p.known) AS x(call text)
    WHERE u.run_id = run AND u.call = x.call;
  END IF;
  IF p.unknown IS NOT NULL THEN
    INSERT INTO troupe.unknown_calls (run_id, call, tool, tenant, since)
    SELECT run, x.call, x.tool, detail.tenant, at FROM json_to_recordset(p.unknown) AS x(call text, tool text)
    ON CONFLICT DO NOTHING;
  END IF;
END $body$;
----
CREATE FUNCTION troupe.append_event(
  run uuid, expected_epoch int4, expected_length int4, new_status int4, at int8, type text, payload text, projection json)
RETURNS boolean LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $body$
BEGIN
  UPDATE troupe.runs r SET length = r.length + 1, status = new_status::int2
  WHERE r.run_id = run AND r.epoch = expected_epoch AND r.length = expected_length AND r.status < 3;
  IF NOT FOUND THEN RETURN false; END IF;
  INSERT INTO troupe.run_pairs (run_id, seq, at, type, payload)
  VALUES (run, expected_length, at, CASE WHEN troupe.is_sought(type) THEN type END, payload);
  IF projection IS NOT NULL THEN
    PERFORM troupe.append_projection(run, expected_length, at, projection);
  END IF;
  RETURN true;
END $body$;
----
CREATE FUNCTION troupe.append_runs(
  runs uuid[], epochs int4[], lengths int4[], counts int4[], statuses int4[], times int8[],
  places int4[], positions int4[], types text[], payloads text[],
  ended int4[], closing int4[], reasons text[], answers text[],
  projecting int4[], projections text[])
RETURNS SETOF int4 LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan AS $body$
#variable_conflict use_column
DECLARE
  accepted int4[];
  are_all boolean;
  -- Of the runs that end: each with its place among them, its conversation, and the place of its answer in that.
  endings uuid[];
  tenants text[];
  conversations text[];
  spots int4[];
BEGIN
  WITH head AS (
    UPDATE troupe.runs r SET length = w.length + w.count, status = w.status::int2
    FROM unnest(runs, epochs, lengths, counts, statuses) WITH ORDINALITY AS w(run_id, epoch, length, count, status, place)
    WHERE r.run_id = w.run_id AND r.run_id = ANY (runs) AND r.epoch = w.epoch AND r.length = w.length AND r.status < 3
    RETURNING w.place::int4 AS place)
  SELECT coalesce(array_agg(h.place), '{}') INTO accepted FROM head h;
  are_all := cardinality(accepted) = cardinality(runs);
  INSERT INTO troupe.run_pairs (run_id, seq, at, type, payload, next)
  SELECT runs[e.place], lengths[e.place] + e.position, times[e.place], CASE WHEN troupe.is_sought(e.type) THEN e.type END,
    e.payload,
    CASE WHEN e.position % 2 = 0 AND e.next_place = e.place AND NOT troupe.is_sought(e.type)
      AND NOT troupe.is_sought(e.next_type) THEN e.next END
  FROM unnest(places, positions, types, payloads, places[2:], types[2:], payloads[2:],
    ARRAY['']::text[] || types[:cardinality(types) - 1])
    AS e(place, position, type, payload, next_place, next_type, next, last_type)
  WHERE (are_all OR e.place = ANY (accepted))
    AND NOT (e.position % 2 = 1 AND NOT troupe.is_sought(e.type) AND NOT troupe.is_sought(e.last_type));
  IF cardinality(ended) > 0 THEN
    endings := ARRAY (SELECT CASE WHEN are_all OR e.place = ANY (accepted) THEN runs[e.place] END
      FROM unnest(ended) WITH ORDINALITY AS e(place, n) ORDER BY e.n);
    -- A task that is over stays as it is.
    UPDATE troupe.agent_tasks t SET status = e.status, reason = nullif(e.reason, '')
    FROM unnest(endings, closing, reasons) AS e(run_id, status, reason)
    WHERE t.id = e.run_id AND t.id = ANY (endings) AND t.status + 0 < 2;
    -- The next run of its address may begin.
    UPDATE troupe.run_details d SET open = false WHERE d.run_id = ANY (endings);
    SELECT array_agg(d.tenant ORDER BY e.n), array_agg(d.conversation ORDER BY e.n) INTO tenants, conversations
    FROM unnest(endings, answers) WITH ORDINALITY AS e(run_id, answer, n) LEFT JOIN LATERAL (
      SELECT d.tenant, d.conversation FROM troupe.run_details d WHERE d.run_id = e.run_id AND e.answer <> '' OFFSET 0) d ON true;
    -- The assistant's messages, at the ends of their conversations. A conversation may have several.
    WITH answered AS MATERIALIZED (
      SELECT u.tenant, u.conversation, array_agg(u.n::int4 ORDER BY u.n) AS places
      FROM unnest(tenants, conversations) WITH ORDINALITY AS u(tenant, conversation, n) WHERE u.conversation IS NOT NULL
      GROUP BY u.tenant, u.conversation ORDER BY u.tenant, u.conversation),
    home AS (
      UPDATE troupe.conversations c SET messages = c.messages + cardinality(a.places),
        active_at = greatest(c.active_at, times[ended[a.places[cardinality(a.places)]]]) FROM answered a
      WHERE c.id = a.conversation AND c.tenant = a.tenant
      RETURNING c.tenant, c.id, c.messages - cardinality(a.places) AS first, a.places)
    INSERT INTO troupe.conversation_messages (tenant, conversation, seq, role, content, channel_origin, run_id, created_at)
    SELECT h.tenant, h.id, h.first + a.nth - 1, 'assistant', answers[a.n],
      coalesce((SELECT t.channel_origin FROM troupe.agent_tasks t WHERE t.id = endings[a.n]), 'api'), endings[a.n], times[ended[a.n]]
    FROM home h CROSS JOIN LATERAL unnest(h.places) WITH ORDINALITY AS a(n, nth);
  END IF;
  IF cardinality(projecting) > 0 THEN
    PERFORM troupe.append_projection(runs[x.place], lengths[x.place], times[x.place], x.projection::json)
    FROM unnest(projecting, projections) AS x(place, projection) WHERE are_all OR x.place = ANY (accepted);
  END IF;
  IF NOT are_all THEN
    RETURN QUERY SELECT x.place FROM generate_series(1, cardinality(runs)) AS x(place) WHERE x.place <> ALL (accepted);
  END IF;
END $body$;
----
CREATE FUNCTION troupe.amend_runs(
  runs uuid[], epochs int4[], lengths int4[], counts int4[], statuses int4[], times int8[], places int4[], positions int4[],
  types text[], payloads text[], projecting int4[], projections text[], owners text[], sender text,
  answered int4[], questions uuid[], closing int4[], answers text[])
RETURNS SETOF int4 LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan AS $body$
#variable_conflict use_column
DECLARE
  free uuid[];
  accepted int4[];
  are_all boolean;
BEGIN
  free := ARRAY (SELECT r.run_id FROM troupe.runs r WHERE r.run_id = ANY (runs) FOR UPDATE SKIP LOCKED);
  WITH head AS (
    UPDATE troupe.runs r SET length = w.length + w.count, status = w.status::int2,
      epoch = r.epoch + CASE WHEN w.owner = '' THEN 0 ELSE 1 END
    FROM unnest(runs, epochs, lengths, counts, statuses, owners) WITH ORDINALITY
      AS w(run_id, epoch, length, count, status, owner, place)
    WHERE r.run_id = w.run_id AND r.run_id = ANY (free) AND r.epoch = w.epoch AND r.length = w.length AND r.status < 3
    RETURNING w.place::int4 AS place)
  SELECT coalesce(array_agg(h.place), '{}') INTO accepted FROM head h;
  are_all := cardinality(accepted) = cardinality(runs);
  UPDATE troupe.run_details d SET owner = w.owner, needs = '{}'
  FROM unnest(runs, owners) WITH ORDINALITY AS w(run_id, owner, place)
  WHERE d.run_id = w.run_id AND d.run_id = ANY (free) AND w.owner <> '' AND (are_all OR w.place = ANY (accepted));
  INSERT INTO troupe.run_pairs (run_id, seq, at, type, payload, next)
  SELECT runs[e.place], lengths[e.place] + e.position, times[e.place], CASE WHEN troupe.is_sought(e.type) THEN e.type END,
    e.payload,
    CASE WHEN e.position % 2 = 0 AND e.next_place = e.place AND NOT troupe.is_sought(e.type)
      AND NOT troupe.is_sought(e.next_type) THEN e.next END
  FROM unnest(places, positions, types, payloads, places[2:], types[2:], payloads[2:],
    ARRAY['']::text[] || types[:cardinality(types) - 1])
    AS e(place, position, type, payload, next_place, next_type, next, last_type)
  WHERE (are_all OR e.place = ANY (accepted))
    AND NOT (e.position % 2 = 1 AND NOT troupe.is_sought(e.type) AND NOT troupe.is_sought(e.last_type));
  UPDATE troupe.approvals a SET status = q.status::int2, answer = q.answer
  FROM unnest(answered, questions, closing, answers) AS q(place, id, status, answer)
  WHERE a.id = q.id AND a.id = ANY (questions) AND a.run_id = runs[q.place] AND a.status + 0 = 0
    AND (are_all OR q.place = ANY (accepted));
  PERFORM pg_notify('troupe_amended', sender || string_agg(w.run_id::text, ' '))
  FROM unnest(runs) WITH ORDINALITY AS w(run_id, place) WHERE are_all OR w.place = ANY (accepted) GROUP BY w.place / 100;
  IF cardinality(projecting) > 0 THEN
    PERFORM troupe.append_projection(runs[x.place], lengths[x.place], times[x.place], x.projection::json)
    FROM unnest(projecting, projections) AS x(place, projection) WHERE are_all OR x.place = ANY (accepted);
  END IF;
  IF NOT are_all THEN
    RETURN QUERY SELECT x.place FROM generate_series(1, cardinality(runs)) AS x(place) WHERE x.place <> ALL (accepted);
  END IF;
END $body$;
----
CREATE FUNCTION troupe.claim_runs(text[], int4[], text[], text[], text[], waits boolean)
RETURNS TABLE (run_id uuid, tenant text, agent text, address_key text, conversation text, ordinal int4, status int2,
  epoch int4, length int4, created_at int8, owner text, entries text) LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $body$
#variable_conflict use_column
DECLARE
  free uuid[] := $1::uuid[];
  taken uuid[];
BEGIN
  IF NOT waits THEN
    SELECT array_agg(x.run_id) INTO free FROM (
      SELECT r.run_id FROM troupe.runs r WHERE r.run_id = ANY ($1::uuid[]) FOR UPDATE SKIP LOCKED) x;
  END IF;
  WITH wanted AS MATERIALIZED (
    SELECT * FROM unnest($1, $2, $3, $4, $5) AS w(run_id, seen, owner, name, at)),
  head AS (
    UPDATE troupe.runs r SET epoch = r.epoch + 1, length = r.length + 1, status = CASE r.status WHEN 0 THEN 1 ELSE r.status END
    FROM wanted w
    WHERE r.run_id = w.run_id::uuid AND r.run_id = ANY (free) AND r.status < 3 AND (w.seen = -1 OR r.epoch = w.seen)
    RETURNING r.run_id, r.epoch, r.length, w.owner, w.name, w.at::int8 AS at),
  detail AS (
    UPDATE troupe.run_details d SET owner = h.owner, needs = '{}' FROM head h
    WHERE d.run_id = h.run_id AND d.run_id = ANY (free)),
  event AS (
    INSERT INTO troupe.run_pairs (run_id, seq, at, payload)
    SELECT run_id, length - 1, at, '{"_tag":"RunClaimed","epoch":' || epoch || ',"owner":' || name || '}'
    FROM head),
  task AS (
    UPDATE troupe.agent_tasks t SET status = 1 FROM head h
    WHERE t.id = h.run_id AND t.id = ANY (free) AND t.status + 0 = 0)
  SELECT array_agg(h.run_id) INTO taken FROM head h;
  RETURN QUERY SELECT r.run_id, r.tenant, d.agent, d.address_key, d.conversation, d.ordinal, r.status, r.epoch, r.length, d.created_at,
    (SELECT p.owner FROM troupe.processes p WHERE p.owner = d.owner AND p.expires_at > clock_timestamp()),
    CASE WHEN (SELECT sum(octet_length(e.payload) + coalesce(octet_length(e.next), 0)) FROM troupe.run_pairs e WHERE e.run_id = r.run_id) <= 1000000 THEN
      (SELECT '[' || string_agg('[' || e.at || ',' || e.payload || ']' || coalesce(',[' || e.at || ',' || e.next || ']', ''),
        ',' ORDER BY e.seq) || ']' FROM troupe.run_pairs e WHERE e.run_id = r.run_id) END
    FROM troupe.runs r JOIN troupe.run_details d ON d.run_id = r.run_id
    WHERE r.run_id = ANY (taken) AND d.run_id = ANY (taken);
END $body$;
----
CREATE TABLE troupe.tool_messages (
    id text PRIMARY KEY,
    tool text NOT NULL,
    tenant text NOT NULL,
    payload text NOT NULL,
    expires_at int8 NOT NULL,
    -- 0 waits or runs, 1 acknowledged, 2 dead.
    status int2 NOT NULL DEFAULT 0,
    -- When it may be claimed (again): the time of its next delivery, or the end of the claim's lease.
    due_at int8 NOT NULL,
    place int8 GENERATED ALWAYS AS IDENTITY,
    deliveries int4 NOT NULL DEFAULT 0,
    owner text,
    -- When a worker began to run the tool's body; null before.
    begun_at int8,
    result text,
    error text,
    over_at int8
  ) WITH (fillfactor = 70);
----
CREATE INDEX tool_messages_due ON troupe.tool_messages (tool, due_at) WHERE status = 0;
----
CREATE INDEX tool_messages_turn ON troupe.tool_messages (tool, tenant, due_at, place) WHERE status = 0;
----
CREATE INDEX tool_messages_over ON troupe.tool_messages (status, over_at) WHERE status > 0;
----
CREATE TABLE troupe.tool_workers (
    worker text PRIMARY KEY,
    provider text NOT NULL,
    -- The keys of its tools, and their specs as a JSON array.
    keys text[] NOT NULL,
    tools text NOT NULL,
    expires_at int8 NOT NULL
  ) WITH (fillfactor = 70);
----
CREATE FUNCTION troupe.take_tool_message(claimer text, at int8, until int8, tools text[], whose text)
RETURNS SETOF troupe.tool_messages LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off AS $body$
BEGIN
  RETURN QUERY UPDATE troupe.tool_messages m SET deliveries = m.deliveries + 1, owner = claimer, due_at = until
  WHERE m.id = (
    SELECT x.id FROM unnest(tools) t(tool) CROSS JOIN LATERAL (
      SELECT w.id, w.due_at, w.place FROM troupe.tool_messages w
      WHERE w.status = 0 AND w.tool = t.tool AND w.tenant = whose AND w.due_at <= at
      ORDER BY w.due_at, w.place LIMIT 1 FOR UPDATE SKIP LOCKED) x
    ORDER BY x.due_at, x.place LIMIT 1)
  RETURNING m.*;
END $body$;
----
CREATE FUNCTION troupe.claim_tool_messages(claimer text, at int8, until int8, tools text[], wanted int4, behind text)
RETURNS SETOF troupe.tool_messages LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off AS $body$
DECLARE
  whose text := behind;
  wrapped boolean := false;
  taken int4 := 0;
  -- The tenants that gave a call in this round, and in the next.
  tenants text[] := '{}';
  still text[];
BEGIN
  WHILE taken < wanted LOOP
    SELECT min(x.tenant) INTO whose FROM unnest(tools) t(tool) CROSS JOIN LATERAL (
      SELECT w.tenant FROM troupe.tool_messages w
      WHERE w.status = 0 AND w.tool = t.tool AND w.tenant > whose ORDER BY w.tenant LIMIT 1) x;
    IF whose IS NULL THEN
      EXIT WHEN wrapped OR behind = '';
      wrapped := true;
      whose := '';
      CONTINUE;
    END IF;
    EXIT WHEN wrapped AND whose > behind;
    RETURN QUERY SELECT * FROM troupe.take_tool_message(claimer, at, until, tools, whose);
    IF FOUND THEN
      taken := taken + 1;
      tenants := tenants || whose;
    END IF;
  END LOOP;
  WHILE taken < wanted AND cardinality(tenants) > 0 LOOP
    still := '{}';
    FOR i IN 1 .. cardinality(tenants) LOOP
      EXIT WHEN taken >= wanted;
      RETURN QUERY SELECT * FROM troupe.take_tool_message(claimer, at, until, tools, tenants[i]);
      CONTINUE WHEN NOT FOUND;
      taken := taken + 1;
      still := still || tenants[i];
    END LOOP;
    tenants := still;
  END LOOP;
END $body$;
----
CREATE TABLE troupe.call_records (
    place int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key text NOT NULL UNIQUE,
    tenant text NOT NULL,
    run_id uuid NOT NULL,
    tool_name text NOT NULL,
    ended_at int8 NOT NULL,
    took_ms int8 NOT NULL,
    -- 0 done, 1 failed, 2 refused or left.
    ended_as int2 NOT NULL,
    record text NOT NULL
  );
----
CREATE INDEX call_records_run ON troupe.call_records (run_id, place);
----
CREATE INDEX call_records_tool ON troupe.call_records (tenant, tool_name, place DESC);
----
CREATE INDEX call_records_age ON troupe.call_records (tenant, ended_at, place);
----
CREATE TABLE troupe.mcp_pins (
    server text NOT NULL,
    tool text NOT NULL,
    -- SHA-256 of the definition.
    hash text NOT NULL,
    definition text NOT NULL,
    accepted_by text NOT NULL,
    accepted_at int8 NOT NULL,
    how text NOT NULL,
    PRIMARY KEY (server, tool)
  );
----
CREATE TABLE troupe.mcp_pin_changes (
    place int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    server text NOT NULL,
    tool text NOT NULL,
    -- Null for the first.
    old_hash text,
    new_hash text NOT NULL,
    accepted_by text NOT NULL,
    accepted_at int8 NOT NULL,
    how text NOT NULL
  );
----
CREATE INDEX mcp_pin_changes_newest ON troupe.mcp_pin_changes (server, place DESC);
----
CREATE TABLE troupe.tool_stops (
    tenant text PRIMARY KEY,
    -- Since when.
    at int8 NOT NULL
  );
----
CREATE TABLE troupe.idempotency_keys (
    tenant text NOT NULL,
    -- A digest of the scope, the tool and the values of its key.
    key text NOT NULL,
    run uuid NOT NULL,
    call text NOT NULL,
    seq int4 NOT NULL,
    -- A digest of what the call asked for.
    asked text NOT NULL,
    at int8 NOT NULL,
    expires_at int8 NOT NULL,
    -- A JSON object: who freed the key, and when.
    freed text,
    PRIMARY KEY (tenant, key)
  );
----
CREATE INDEX idempotency_keys_expiry ON troupe.idempotency_keys (expires_at);
----
CREATE TABLE troupe.memory_scopes (
    id int8 PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    tenant text NOT NULL,
    agent text NOT NULL,
    tier int2 NOT NULL,
    anchor text NOT NULL,
    -- The anchor of the persistent tier, and the conversation.
    place text NOT NULL,
    session text NOT NULL,
    -- How many rows it holds, by which it is full.
    rows int4 NOT NULL DEFAULT 0,
    touched_at int8 NOT NULL,
    UNIQUE (anchor, agent, tier, tenant)
  );
----
CREATE INDEX memory_scopes_stale ON troupe.memory_scopes (tier, touched_at);
----
CREATE INDEX memory_scopes_runs ON troupe.memory_scopes (session, agent, tenant, touched_at) WHERE tier = 0;
----
CREATE TABLE troupe.memory_rows (
    -- Increases from row to row: the newest has the highest.
    position int8 PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    id uuid NOT NULL UNIQUE DEFAULT gen_random_uuid(),
    scope int8 NOT NULL,
    tenant text NOT NULL,
    agent text NOT NULL,
    place text NOT NULL,
    session text NOT NULL,
    typology int2 NOT NULL,
    text text NOT NULL,
    -- By which a recall finds it (memory_words).
    words text[] NOT NULL,
    source int2 NOT NULL,
    author int2 NOT NULL,
    run_id uuid,
    step int4,
    call text,
    subject text,
    key text,
    seen int4 NOT NULL DEFAULT 1,
    at int8 NOT NULL,
    supersedes uuid,
    superseded_by uuid,
    undone_by text,
    embedding text,
    embedded_by text,
    -- All words of the text. The trigger compares them, and removes them.
    compared text[]
  );
----
CREATE INDEX memory_rows_all ON troupe.memory_rows (scope, position);
----
CREATE INDEX memory_rows_live ON troupe.memory_rows (scope, position) WHERE superseded_by IS NULL AND undone_by IS NULL;
----
CREATE UNIQUE INDEX memory_rows_key ON troupe.memory_rows (key, agent, tenant) WHERE key IS NOT NULL;
----
CREATE INDEX memory_rows_age ON troupe.memory_rows (at);
----
CREATE INDEX memory_rows_tenant ON troupe.memory_rows (tenant, position);
----
CREATE TABLE troupe.memory_words (
    scope int8 NOT NULL,
    word text NOT NULL COLLATE "C",
    position int8 NOT NULL,
    PRIMARY KEY (scope, word, position)
  );
----
CREATE TABLE troupe.memory_canonical_texts (
    tenant text NOT NULL,
    place text NOT NULL,
    name text NOT NULL,
    text text NOT NULL,
    -- From this similarity on a text is a copy.
    threshold float8 NOT NULL,
    -- How many words the text has, and its trigrams.
    words int4 NOT NULL,
    trigrams text[] NOT NULL,
    PRIMARY KEY (place, name, tenant)
  );
----
CREATE FUNCTION troupe.memory_trigrams(words text[]) RETURNS text[] LANGUAGE sql IMMUTABLE AS $body$
  SELECT coalesce(array_agg(DISTINCT substr(w.padded, i, 3) COLLATE "C"), '{}')
  FROM (SELECT '  ' || x || ' ' AS padded FROM unnest(words) AS u(x)) w
  CROSS JOIN LATERAL generate_series(1, length(w.padded) - 2) AS g(i)
$body$;
----
CREATE FUNCTION troupe.memory_shared(a text[], b text[]) RETURNS int4 LANGUAGE sql IMMUTABLE AS $body$
  SELECT count(*)::int4 FROM unnest(a) AS x(t) JOIN unnest(b) AS y(t) ON x.t COLLATE "C" = y.t COLLATE "C"
$body$;
----
CREATE FUNCTION troupe.memory_similarity(a text[], b text[]) RETURNS float4 LANGUAGE sql IMMUTABLE AS $body$
  SELECT coalesce((s.n::float8 / nullif(cardinality(a) + cardinality(b) - s.n, 0))::float4, 0)
  FROM (SELECT troupe.memory_shared(a, b) AS n) s
$body$;
----
CREATE FUNCTION troupe.memory_resembles(body text[], trigrams text[], size int4, canonical text[], threshold float4)
RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $body$
DECLARE
  ofs int4 := 1;
BEGIN
  IF troupe.memory_similarity(trigrams, canonical) >= threshold THEN RETURN true; END IF;
  IF size < 4 OR cardinality(body) <= size THEN RETURN false; END IF;
  IF (troupe.memory_shared(trigrams, canonical)::float8 / cardinality(canonical))::float4 < threshold THEN RETURN false; END IF;
  WHILE ofs <= cardinality(body) LOOP
    IF troupe.memory_similarity(troupe.memory_trigrams(body[ofs : ofs + size - 1]), canonical) >= threshold THEN
      RETURN true;
    END IF;
    ofs := ofs + greatest(1, size / 4);
  END LOOP;
  RETURN false;
END $body$;
----
CREATE FUNCTION troupe.memory_ascii(body text) RETURNS text LANGUAGE sql IMMUTABLE AS $body$
  SELECT regexp_replace(
    translate(body, U&'ABCDEFGHIJKLMNOPQRSTUVWXYZ\0130\212A', 'abcdefghijklmnopqrstuvwxyzik') COLLATE "C", '[^a-z0-9]+', '', 'g')
$body$;
----
CREATE FUNCTION troupe.memory_guard() RETURNS trigger LANGUAGE plpgsql AS $body$
DECLARE
  found text[];
  known record;
BEGIN
  FOR known IN SELECT c.name, c.words, c.trigrams, c.threshold FROM troupe.memory_canonical_texts c
    WHERE c.place = NEW.place AND c.tenant = NEW.tenant ORDER BY c.name COLLATE "C" LOOP
    IF NEW.compared IS NULL
      OR troupe.memory_ascii(NEW.text) <> troupe.memory_ascii(array_to_string(NEW.compared, '')) THEN
      RAISE EXCEPTION 'a memory without the words of its text'
        USING ERRCODE = 'check_violation', CONSTRAINT = 'memory_compared';
    END IF;
    found := coalesce(found, troupe.memory_trigrams(NEW.compared));
    IF troupe.memory_resembles(NEW.compared, found, known.words, known.trigrams, known.threshold::float4) THEN
      RAISE EXCEPTION 'a memory is a copy of a canonical text'
        USING ERRCODE = 'check_violation', CONSTRAINT = 'memory_canonical', DETAIL = known.name;
    END IF;
  END LOOP;
  NEW.compared := NULL;
  RETURN NEW;
END $body$;
----
CREATE TRIGGER memory_guard BEFORE INSERT OR UPDATE OF text, place, tenant ON troupe.memory_rows
FOR EACH ROW EXECUTE FUNCTION troupe.memory_guard();
----
CREATE TABLE troupe.webhooks (
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
  );
----
CREATE INDEX webhooks_tenant ON troupe.webhooks (tenant, status, position);
----
CREATE TABLE troupe.webhook_secrets (
    position int8 PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    webhook uuid NOT NULL,
    secret text NOT NULL,
    made_at int8 NOT NULL,
    -- Absent = it is the newest.
    ends_at int8
  );
----
CREATE INDEX webhook_secrets_webhook ON troupe.webhook_secrets (webhook, position);
----
CREATE TABLE troupe.webhook_deliveries (
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
  );
----
CREATE INDEX webhook_deliveries_newest ON troupe.webhook_deliveries (webhook, position);
----
CREATE INDEX webhook_deliveries_status ON troupe.webhook_deliveries (webhook, status, position);
----
CREATE INDEX webhook_deliveries_age ON troupe.webhook_deliveries (created_at);
----
CREATE FUNCTION troupe.publish_end() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $body$
BEGIN
  IF EXISTS (SELECT FROM troupe.webhooks w WHERE w.tenant = NEW.tenant AND w.status = 0) THEN
    PERFORM troupe.announce(NEW.tenant, 'webhooks/' || NEW.id, 'webhook.event', json_build_object('type', CASE
      WHEN NEW.status = 2 THEN 'run.complete'
      WHEN (SELECT r.status FROM troupe.runs r WHERE r.run_id = NEW.id) = 5 THEN 'run.cancelled'
      ELSE 'run.failed' END, 'run', NEW.id)::text, floor(extract(epoch FROM clock_timestamp()) * 1000)::int8);
  END IF;
  RETURN NULL;
END $body$;
----
CREATE TRIGGER publish_end AFTER UPDATE OF status ON troupe.agent_tasks
FOR EACH ROW WHEN (OLD.status < 2 AND NEW.status >= 2) EXECUTE FUNCTION troupe.publish_end();
----
CREATE FUNCTION troupe.publish_question() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $body$
BEGIN
  IF EXISTS (SELECT FROM troupe.webhooks w WHERE w.tenant = NEW.tenant AND w.status = 0) THEN
    PERFORM troupe.announce(NEW.tenant, 'webhooks/' || NEW.run_id, 'webhook.event', json_build_object('type',
      CASE NEW.status WHEN 0 THEN 'approval.requested' ELSE 'approval.settled' END,
      'run', NEW.run_id, 'approval', NEW.id)::text, floor(extract(epoch FROM clock_timestamp()) * 1000)::int8);
  END IF;
  RETURN NULL;
END $body$;
----
CREATE TRIGGER publish_question AFTER INSERT ON troupe.approvals
FOR EACH ROW WHEN (NEW.status = 0) EXECUTE FUNCTION troupe.publish_question();
----
CREATE TRIGGER publish_settled AFTER UPDATE OF status ON troupe.approvals
FOR EACH ROW WHEN (OLD.status = 0 AND NEW.status <> 0) EXECUTE FUNCTION troupe.publish_question();
----
CREATE TABLE troupe.blob_totals (
    tenant text PRIMARY KEY,
    bytes int8 NOT NULL
  );
----
CREATE TABLE troupe.blob_shares (
    tenant text NOT NULL,
    customer text NOT NULL,
    bytes int8 NOT NULL,
    PRIMARY KEY (customer, tenant)
  );
----
CREATE TABLE troupe.blobs (
    tenant text NOT NULL,
    -- SHA-256 of the bytes, in hex.
    digest text NOT NULL,
    size int8 NOT NULL,
    bytes bytea NOT NULL,
    -- The SHA-256 of the id of the customer that brought the file, in hex. Null = it counts for the tenant alone.
    charged_to text,
    PRIMARY KEY (digest, tenant)
  );
----
ALTER TABLE troupe.blobs ALTER COLUMN bytes SET STORAGE EXTERNAL;
----
CREATE TABLE troupe.blob_uses (
    tenant text NOT NULL,
    digest text NOT NULL,
    -- An uploader as a JSON string, or the run and what of it names the file.
    holder text NOT NULL,
    run uuid,
    conversation text,
    held_as text NOT NULL,
    media_type text NOT NULL,
    name text,
    at int8 NOT NULL,
    -- An upload, or a run that may not have been accepted.
    unsure boolean NOT NULL DEFAULT true,
    PRIMARY KEY (digest, holder, tenant),
    FOREIGN KEY (digest, tenant) REFERENCES troupe.blobs (digest, tenant)
  );
----
CREATE INDEX blob_uses_unsure ON troupe.blob_uses (at) WHERE unsure;
----
CREATE INDEX blob_uses_run ON troupe.blob_uses (run) WHERE run IS NOT NULL;
----
CREATE TABLE troupe.access_tokens (
    -- Lists are in this order.
    position int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    token_id uuid NOT NULL UNIQUE,
    -- In hex.
    sha256 text NOT NULL UNIQUE,
    tenant text NOT NULL,
    -- The whole of it but what changes, as JSON.
    token text NOT NULL,
    expires_at int8 NOT NULL,
    last_used_at int8,
    -- A JSON string.
    revoked_by text,
    revoked_at int8
  );
----
CREATE INDEX access_tokens_tenant ON troupe.access_tokens (tenant, position);
----
CREATE TABLE troupe.authorizations (
    authorization_id uuid PRIMARY KEY,
    position int8 NOT NULL GENERATED ALWAYS AS IDENTITY,
    tenant text NOT NULL,
    agent text NOT NULL,
    action text NOT NULL,
    tool_key text NOT NULL,
    tool_digest text NOT NULL,
    granted_by text NOT NULL,
    granted_at int8 NOT NULL,
    expires_at int8 NOT NULL,
    uses_max int4,
    uses int4 NOT NULL DEFAULT 0,
    last_used_at int8,
    revoked_by text,
    revoked_at int8
  );
----
CREATE UNIQUE INDEX authorizations_standing ON troupe.authorizations (tenant, agent, action) WHERE revoked_at IS NULL;
----
CREATE INDEX authorizations_newest ON troupe.authorizations (tenant, position);
----
CREATE TABLE troupe.erasures (
    -- Lists are in this order.
    position int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id uuid NOT NULL UNIQUE,
    tenant text NOT NULL,
    -- The keyed digest of the subject, or of the id of a conversation, in hex.
    subject text NOT NULL,
    -- 'conversation'. Null = a subject.
    of_what text,
    -- A JSON string.
    by text NOT NULL,
    -- Who acted for it, as a JSON string. Null = it acted itself.
    via text,
    at int8 NOT NULL,
    -- Null = it did not come to its end.
    ended_at int8,
    -- Rows by table, as JSON.
    erased text NOT NULL DEFAULT '{}'
  );
----
CREATE TABLE troupe.feature_tables (
    name text COLLATE "C" PRIMARY KEY,
    feature text NOT NULL,
    -- What an erasure does with its rows, as JSON.
    erased text NOT NULL
  );
----
CREATE INDEX erasures_tenant ON troupe.erasures (tenant, position);
----
ALTER TABLE troupe.access_tokens ENABLE ROW LEVEL SECURITY;
----
CREATE POLICY of_tenant ON troupe.access_tokens FOR SELECT USING (tenant = current_setting('troupe.tenant', true));
----
ALTER TABLE troupe.agent_tasks ENABLE ROW LEVEL SECURITY;
----
CREATE POLICY of_tenant ON troupe.agent_tasks FOR SELECT USING (tenant = current_setting('troupe.tenant', true));
----
ALTER TABLE troupe.approvals ENABLE ROW LEVEL SECURITY;
----
CREATE POLICY of_tenant ON troupe.approvals FOR SELECT USING (tenant = current_setting('troupe.tenant', true));
----
ALTER TABLE troupe.authorizations ENABLE ROW LEVEL SECURITY;
----
CREATE POLICY of_tenant ON troupe.authorizations FOR SELECT USING (tenant = current_setting('troupe.tenant', true));
----
ALTER TABLE troupe.blob_shares ENABLE ROW LEVEL SECURITY;
----
CREATE POLICY of_tenant ON troupe.blob_shares FOR SELECT USING (tenant = current_setting('troupe.tenant', true));
----
ALTER TABLE troupe.blob_totals ENABLE ROW LEVEL SECURITY;
----
CREATE POLICY of_tenant ON troupe.blob_totals FOR SELECT USING (tenant = current_setting('troupe.tenant', true));
----
ALTER TABLE troupe.blob_uses ENABLE ROW LEVEL SECURITY;
----
CREATE POLICY of_tenant ON troupe.blob_uses FOR SELECT USING (tenant = current_setting('troupe.tenant', true));
----
ALTER TABLE troupe.blobs ENABLE ROW LEVEL SECURITY;
----
CREATE POLICY of_tenant ON troupe.blobs FOR SELECT USING (tenant = current_setting('troupe.tenant', true));
----
ALTER TABLE troupe.budget_accounts ENABLE ROW LEVEL SECURITY;
----
CREATE POLICY of_tenant ON troupe.budget_accounts FOR SELECT USING (tenant = current_setting('troupe.tenant', true));
----
ALTER TABLE troupe.budget_holds ENABLE ROW LEVEL SECURITY;
----
CREATE POLICY of_tenant ON troupe.budget_holds FOR SELECT USING (tenant = current_setting('troupe.tenant', true));
----
ALTER TABLE troupe.call_records ENABLE ROW LEVEL SECURITY;
----
CREATE POLICY of_tenant ON troupe.call_records FOR SELECT USING (tenant = current_setting('troupe.tenant', true));
----
ALTER TABLE troupe.channel_bindings ENABLE ROW LEVEL SECURITY;
----
CREATE POLICY of_tenant ON troupe.channel_bindings FOR SELECT USING (tenant = current_setting('troupe.tenant', true));
----
ALTER TABLE troupe.conversation_messages ENABLE ROW LEVEL SECURITY;
----
CREATE POLICY of_tenant ON troupe.conversation_messages FOR SELECT USING (tenant = current_setting('troupe.tenant', true));
----
ALTER TABLE troupe.dead_letters ENABLE ROW LEVEL SECURITY;
----
CREATE POLICY of_tenant ON troupe.dead_letters FOR SELECT USING (tenant = current_setting('troupe.tenant', true));
----
ALTER TABLE troupe.digest_items ENABLE ROW LEVEL SECURITY;
----
CREATE POLICY of_tenant ON troupe.digest_items FOR SELECT USING (tenant = current_setting('troupe.tenant', true));
----
ALTER TABLE troupe.erasures ENABLE ROW LEVEL SECURITY;
----
CREATE POLICY of_tenant ON troupe.erasures FOR SELECT USING (tenant = current_setting('troupe.tenant', true));
----
ALTER TABLE troupe.event_inbox ENABLE ROW LEVEL SECURITY;
----
CREATE POLICY of_tenant ON troupe.event_inbox FOR SELECT USING (tenant = current_setting('troupe.tenant', true));
----
ALTER TABLE troupe.idempotency_keys ENABLE ROW LEVEL SECURITY;
----
CREATE POLICY of_tenant ON troupe.idempotency_keys FOR SELECT USING (tenant = current_setting('troupe.tenant', true));
----
ALTER TABLE troupe.memory_canonical_texts ENABLE ROW LEVEL SECURITY;
----
CREATE POLICY of_tenant ON troupe.memory_canonical_texts FOR SELECT USING (tenant = current_setting('troupe.tenant', true));
----
ALTER TABLE troupe.memory_rows ENABLE ROW LEVEL SECURITY;
----
CREATE POLICY of_tenant ON troupe.memory_rows FOR SELECT USING (tenant = current_setting('troupe.tenant', true));
----
ALTER TABLE troupe.memory_scopes ENABLE ROW LEVEL SECURITY;
----
CREATE POLICY of_tenant ON troupe.memory_scopes FOR SELECT USING (tenant = current_setting('troupe.tenant', true));
----
ALTER TABLE troupe.notice_preferences ENABLE ROW LEVEL SECURITY;
----
CREATE POLICY of_tenant ON troupe.notice_preferences FOR SELECT USING (tenant = current_setting('troupe.tenant', true));
----
ALTER TABLE troupe.notices ENABLE ROW LEVEL SECURITY;
----
CREATE POLICY of_tenant ON troupe.notices FOR SELECT USING (tenant = current_setting('troupe.tenant', true));
----
ALTER TABLE troupe.outbox ENABLE ROW LEVEL SECURITY;
----
CREATE POLICY of_tenant ON troupe.outbox FOR SELECT USING (tenant = current_setting('troupe.tenant', true));
----
ALTER TABLE troupe.outbox_keys ENABLE ROW LEVEL SECURITY;
----
CREATE POLICY of_tenant ON troupe.outbox_keys FOR SELECT USING (tenant = current_setting('troupe.tenant', true));
----
ALTER TABLE troupe.quarantine ENABLE ROW LEVEL SECURITY;
----
CREATE POLICY of_tenant ON troupe.quarantine FOR SELECT USING (tenant = current_setting('troupe.tenant', true));
----
ALTER TABLE troupe.question_posts ENABLE ROW LEVEL SECURITY;
----
CREATE POLICY of_tenant ON troupe.question_posts FOR SELECT USING (tenant = current_setting('troupe.tenant', true));
----
ALTER TABLE troupe.run_details ENABLE ROW LEVEL SECURITY;
----
CREATE POLICY of_tenant ON troupe.run_details FOR SELECT USING (tenant = current_setting('troupe.tenant', true));
----
ALTER TABLE troupe.runs ENABLE ROW LEVEL SECURITY;
----
CREATE POLICY of_tenant ON troupe.runs FOR SELECT USING (tenant = current_setting('troupe.tenant', true));
----
ALTER TABLE troupe.tool_messages ENABLE ROW LEVEL SECURITY;
----
CREATE POLICY of_tenant ON troupe.tool_messages FOR SELECT USING (tenant = current_setting('troupe.tenant', true));
----
ALTER TABLE troupe.tool_stops ENABLE ROW LEVEL SECURITY;
----
CREATE POLICY of_tenant ON troupe.tool_stops FOR SELECT USING (tenant = current_setting('troupe.tenant', true));
----
ALTER TABLE troupe.turn_costs ENABLE ROW LEVEL SECURITY;
----
CREATE POLICY of_tenant ON troupe.turn_costs FOR SELECT USING (tenant = current_setting('troupe.tenant', true));
----
ALTER TABLE troupe.unknown_calls ENABLE ROW LEVEL SECURITY;
----
CREATE POLICY of_tenant ON troupe.unknown_calls FOR SELECT USING (tenant = current_setting('troupe.tenant', true));
----
ALTER TABLE troupe.webhook_deliveries ENABLE ROW LEVEL SECURITY;
----
CREATE POLICY of_tenant ON troupe.webhook_deliveries FOR SELECT USING (tenant = current_setting('troupe.tenant', true));
----
ALTER TABLE troupe.webhooks ENABLE ROW LEVEL SECURITY;
----
CREATE POLICY of_tenant ON troupe.webhooks FOR SELECT USING (tenant = current_setting('troupe.tenant', true));
----
ALTER TABLE troupe.conversations ENABLE ROW LEVEL SECURITY;
----
CREATE POLICY of_tenant ON troupe.conversations FOR SELECT USING (tenant || '' = current_setting('troupe.tenant', true));
----
ALTER TABLE troupe.run_pairs ENABLE ROW LEVEL SECURITY;
----
CREATE POLICY of_tenant ON troupe.run_pairs FOR SELECT USING (EXISTS (SELECT FROM troupe.runs r WHERE r.run_id = run_pairs.run_id
      AND r.tenant = current_setting('troupe.tenant', true) OFFSET 0));
----
ALTER TABLE troupe.memory_words ENABLE ROW LEVEL SECURITY;
----
CREATE POLICY of_tenant ON troupe.memory_words FOR SELECT USING (EXISTS (SELECT FROM troupe.memory_scopes s WHERE s.id = memory_words.scope
      AND s.tenant = current_setting('troupe.tenant', true) OFFSET 0));
----
INSERT INTO troupe.agent_tasks (id, tenant, agent, address_key, conversation, ordinal, status, reason, idempotency_key, message_id, message, by, trace_id, channel_origin, created_at) OVERRIDING SYSTEM VALUE
VALUES ('01a23247-c216-731b-b4a8-69d836c6f4d5', 'acme', 'clerk', 'finished', 'finished', '1', '2', NULL, NULL, '01a23247-c219-77ff-bb32-9c84b76856d9', '"Pay order 7 back."', '{"id":"alice","roles":["admin"]}', '"01a23247c216731bb4a869d836c6f4d5"', 'api', '1796139893276');
----
INSERT INTO troupe.agent_tasks (id, tenant, agent, address_key, conversation, ordinal, status, reason, idempotency_key, message_id, message, by, trace_id, channel_origin, created_at) OVERRIDING SYSTEM VALUE
VALUES ('01a23247-c517-718f-922b-1e8fd50cd461', 'acme', 'clerk', 'asking', 'asking', '1', '1', NULL, NULL, '01a23247-c517-718f-922b-1e90386f676b', '"Pay order 7 back."', '{"id":"alice","roles":["admin"]}', '"01a23247c517718f922b1e8fd50cd461"', 'api', '1796139894039');
----
INSERT INTO troupe.agent_tasks (id, tenant, agent, address_key, conversation, ordinal, status, reason, idempotency_key, message_id, message, by, trace_id, channel_origin, created_at) OVERRIDING SYSTEM VALUE
VALUES ('01a23247-c57f-76c8-b0e2-11a9c6e75058', 'acme', 'boss', 'delegated', 'delegated', '1', '1', NULL, NULL, '01a23247-c580-7291-87fe-9b4b5af16d2f', '"Pay order 7 back."', '{"id":"alice","roles":["admin"]}', '"01a23247c57f76c8b0e211a9c6e75058"', 'api', '1796139894144');
----
INSERT INTO troupe.agent_tasks (id, tenant, agent, address_key, conversation, ordinal, status, reason, idempotency_key, message_id, message, by, trace_id, channel_origin, created_at) OVERRIDING SYSTEM VALUE
VALUES ('01a23247-c600-753e-a887-23d73f9dca74', 'acme', 'printer', 'queued', 'queued', '1', '1', NULL, NULL, '01a23247-c600-753e-a887-23d87c86dc8a', '"Pay order 7 back."', '{"id":"alice","roles":["admin"]}', '"01a23247c600753ea88723d73f9dca74"', 'api', '1796139894272');
----
INSERT INTO troupe.approvals (id, "position", tenant, run_id, status, expires_at, payload, answer) OVERRIDING SYSTEM VALUE
VALUES ('4da7d05f-f488-4087-989f-de03024ae6e7', '2', 'acme', '01a23247-c517-718f-922b-1e8fd50cd461', '0', NULL, E'{"approvers":[],"arguments":{"order":"7"},"call":"0/2.0","digest":"a1c48687f562fc965902e72f772596ce219416900ca8a88184cebeed39acc38e","id":"4da7d05f-f488-4087-989f-de03024ae6e7","payload":{"agent_name":"clerk","args_summary":"order: \\"7\\"","correlation_id":"4da7d05f-f488-4087-989f-de03024ae6e7","effect_description":"","tool_name":"refund"},"policy_version":"1","requested_at":1796139894097,"run_id":"01a23247-c517-718f-922b-1e8fd50cd461","shown_digest":"ab0e482b589e8ac1c6e6e1934753d79119905a14166c3ad90a0d35cb8e58d8f1","tool_key":"shop.refund@1"}', NULL);
----
INSERT INTO troupe.approvals (id, "position", tenant, run_id, status, expires_at, payload, answer) OVERRIDING SYSTEM VALUE
VALUES ('9c1d2c66-f157-4d87-b7d0-75eb27531c8d', '3', 'acme', '01a23247-c57f-76c8-b0e2-11a9c6e75058', '0', NULL, E'{"approvers":[],"arguments":{"order":"7"},"call":"0/1.0/2.0","digest":"f61e9b502e360ef2fe1981cf4d73f291775b11725c9042a9502682b05291b341","id":"9c1d2c66-f157-4d87-b7d0-75eb27531c8d","payload":{"agent_name":"clerk","args_summary":"order: \\"7\\"","correlation_id":"9c1d2c66-f157-4d87-b7d0-75eb27531c8d","effect_description":"","tool_name":"refund"},"policy_version":"1","requested_at":1796139894225,"run_id":"01a23247-c57f-76c8-b0e2-11a9c6e75058","shown_digest":"b02481a42ba799d8932fddedbc9a45007936e4a1ba0d60592ea360398662ed1f","tool_key":"shop.refund@1"}', NULL);
----
INSERT INTO troupe.approvals (id, "position", tenant, run_id, status, expires_at, payload, answer) OVERRIDING SYSTEM VALUE
VALUES ('a619e108-a484-44d7-8a31-9884810b099e', '1', 'acme', '01a23247-c216-731b-b4a8-69d836c6f4d5', '1', NULL, E'{"approvers":[],"arguments":{"order":"7"},"call":"0/2.0","digest":"88274cd0c70a097187a07c6c23c76eee55262f4361407012486c29078092d756","id":"a619e108-a484-44d7-8a31-9884810b099e","payload":{"agent_name":"clerk","args_summary":"order: \\"7\\"","correlation_id":"a619e108-a484-44d7-8a31-9884810b099e","effect_description":"","tool_name":"refund"},"policy_version":"1","requested_at":1796139893671,"run_id":"01a23247-c216-731b-b4a8-69d836c6f4d5","shown_digest":"90c2f00973b08d34750df5aae0210804caf98d4be270520aed820f7a6664a90c","tool_key":"shop.refund@1"}', '{"decided_at":1796139893786,"decided_by":"alice","decision":{"_tag":"Approve"}}');
----
INSERT INTO troupe.conversation_messages (tenant, conversation, seq, role, content, channel_origin, tool_calls, run_id, created_at) OVERRIDING SYSTEM VALUE
VALUES ('acme', 'asking', '0', 'user', '"Pay order 7 back."', 'api', NULL, '01a23247-c517-718f-922b-1e8fd50cd461', '1796139894039');
----
INSERT INTO troupe.conversation_messages (tenant, conversation, seq, role, content, channel_origin, tool_calls, run_id, created_at) OVERRIDING SYSTEM VALUE
VALUES ('acme', 'delegated', '0', 'user', '"Pay order 7 back."', 'api', NULL, '01a23247-c57f-76c8-b0e2-11a9c6e75058', '1796139894144');
----
INSERT INTO troupe.conversation_messages (tenant, conversation, seq, role, content, channel_origin, tool_calls, run_id, created_at) OVERRIDING SYSTEM VALUE
VALUES ('acme', 'finished', '0', 'user', '"Pay order 7 back."', 'api', NULL, '01a23247-c216-731b-b4a8-69d836c6f4d5', '1796139893276');
----
INSERT INTO troupe.conversation_messages (tenant, conversation, seq, role, content, channel_origin, tool_calls, run_id, created_at) OVERRIDING SYSTEM VALUE
VALUES ('acme', 'finished', '1', 'assistant', '"It is paid back."', 'api', NULL, '01a23247-c216-731b-b4a8-69d836c6f4d5', '1796139893938');
----
INSERT INTO troupe.conversation_messages (tenant, conversation, seq, role, content, channel_origin, tool_calls, run_id, created_at) OVERRIDING SYSTEM VALUE
VALUES ('acme', 'queued', '0', 'user', '"Pay order 7 back."', 'api', NULL, '01a23247-c600-753e-a887-23d73f9dca74', '1796139894272');
----
INSERT INTO troupe.conversations (tenant, id, "position", agent, address_key, initiated_by, trigger_event_id, begun_by, created_at, tasks, messages, title, metadata, active_at, deleted) OVERRIDING SYSTEM VALUE
VALUES ('acme', 'asking', '2', 'clerk', 'asking', 'system', NULL, '"alice"', '1796139894039', '1', '1', '"Pay order 7 back."', NULL, '1796139894039', 'false');
----
INSERT INTO troupe.conversations (tenant, id, "position", agent, address_key, initiated_by, trigger_event_id, begun_by, created_at, tasks, messages, title, metadata, active_at, deleted) OVERRIDING SYSTEM VALUE
VALUES ('acme', 'delegated', '3', 'boss', 'delegated', 'system', NULL, '"alice"', '1796139894144', '1', '1', '"Pay order 7 back."', NULL, '1796139894144', 'false');
----
INSERT INTO troupe.conversations (tenant, id, "position", agent, address_key, initiated_by, trigger_event_id, begun_by, created_at, tasks, messages, title, metadata, active_at, deleted) OVERRIDING SYSTEM VALUE
VALUES ('acme', 'finished', '1', 'clerk', 'finished', 'system', NULL, '"alice"', '1796139893276', '1', '2', '"Pay order 7 back."', NULL, '1796139893938', 'false');
----
INSERT INTO troupe.conversations (tenant, id, "position", agent, address_key, initiated_by, trigger_event_id, begun_by, created_at, tasks, messages, title, metadata, active_at, deleted) OVERRIDING SYSTEM VALUE
VALUES ('acme', 'queued', '4', 'printer', 'queued', 'system', NULL, '"alice"', '1796139894272', '1', '1', '"Pay order 7 back."', NULL, '1796139894272', 'false');
----
INSERT INTO troupe.migrations (migration_id, created_at, name) OVERRIDING SYSTEM VALUE
VALUES ('1', '2026-12-01 15:44:51.53+00', 'start');
----
INSERT INTO troupe.processes (owner, since, seen_at, expires_at, guarded, agents) OVERRIDING SYSTEM VALUE
VALUES ('b80a0aa2-dacd-4b49-ac29-18ba9bc010c6', '2026-12-01 15:44:53.225+00', '2026-12-01 15:44:53.225+00', '2026-12-01 15:45:08.225+00', 'false', '{}');
----
INSERT INTO troupe.run_details (run_id, tenant, agent, address_key, conversation, ordinal, owner, open, needs, created_at) OVERRIDING SYSTEM VALUE
VALUES ('01a23247-c216-731b-b4a8-69d836c6f4d5', 'acme', 'clerk', 'finished', 'finished', '1', 'b80a0aa2-dacd-4b49-ac29-18ba9bc010c6', 'false', '{}', '1796139893276');
----
INSERT INTO troupe.run_details (run_id, tenant, agent, address_key, conversation, ordinal, owner, open, needs, created_at) OVERRIDING SYSTEM VALUE
VALUES ('01a23247-c517-718f-922b-1e8fd50cd461', 'acme', 'clerk', 'asking', 'asking', '1', 'b80a0aa2-dacd-4b49-ac29-18ba9bc010c6', 'true', '{}', '1796139894039');
----
INSERT INTO troupe.run_details (run_id, tenant, agent, address_key, conversation, ordinal, owner, open, needs, created_at) OVERRIDING SYSTEM VALUE
VALUES ('01a23247-c57f-76c8-b0e2-11a9c6e75058', 'acme', 'boss', 'delegated', 'delegated', '1', 'b80a0aa2-dacd-4b49-ac29-18ba9bc010c6', 'true', '{}', '1796139894144');
----
INSERT INTO troupe.run_details (run_id, tenant, agent, address_key, conversation, ordinal, owner, open, needs, created_at) OVERRIDING SYSTEM VALUE
VALUES ('01a23247-c600-753e-a887-23d73f9dca74', 'acme', 'printer', 'queued', 'queued', '1', 'b80a0aa2-dacd-4b49-ac29-18ba9bc010c6', 'true', '{}', '1796139894272');
----
INSERT INTO troupe.run_pairs (run_id, seq, at, type, payload, next) OVERRIDING SYSTEM VALUE
VALUES ('01a23247-c216-731b-b4a8-69d836c6f4d5', '0', '1796139893276', NULL, '{"_tag":"RunAccepted","address":{"agent":"clerk","key":"finished"},"by":"alice","conversation":"finished","limits":{"calls_max":1000,"calls_parallel_max":16,"delegations_per_turn_max":2,"depth_max":8,"extensions_max":1,"mistakes_max":10,"nested_depth_max":4,"on_breach":"stop","questions_max":50,"repeats_max":10,"steps_max":25,"tokens_max":0,"wall_ms_max":0,"writes_max":100},"message":"Pay order 7 back.","pins":{"definition":"47ff13d30692aef15ebac6d3a363bb6246dfdd0c7c7728c276af76b96923e225","tools":"9b36ff9065c33ff8ee541346d5b92866ad7e2925fd9292b4b4bc1bc9b3a5b3b1"},"roles":["admin"],"tenant":"acme","trace_id":"01a23247c216731bb4a869d836c6f4d5"}', '{"_tag":"RunClaimed","epoch":1,"owner":"b80a0aa2-dacd-4b49-ac29-18ba9bc010c6"}');
----
INSERT INTO troupe.run_pairs (run_id, seq, at, type, payload, next) OVERRIDING SYSTEM VALUE
VALUES ('01a23247-c216-731b-b4a8-69d836c6f4d5', '2', '1796139893488', NULL, '{"_tag":"ModelTurned","calls":[{"arguments":{"order":"7"},"model_id":"call_0","name":"look"}],"finish":"tool_calls","frame":"0","step":1,"text":""}', E'{"_tag":"CallSettled","call":"0/1.0","ended_at":1796139893488,"outcome":{"_tag":"Value","json":"\\"order 7 is paid\\""},"started_at":1796139893487}');
----
INSERT INTO troupe.run_pairs (run_id, seq, at, type, payload, next) OVERRIDING SYSTEM VALUE
VALUES ('01a23247-c216-731b-b4a8-69d836c6f4d5', '4', '1796139893552', NULL, '{"_tag":"ModelTurned","calls":[{"arguments":{"order":"7"},"model_id":"call_0","name":"refund"}],"finish":"tool_calls","frame":"0","step":2,"text":""}', NULL);
----
INSERT INTO troupe.run_pairs (run_id, seq, at, type, payload, next) OVERRIDING SYSTEM VALUE
VALUES ('01a23247-c216-731b-b4a8-69d836c6f4d5', '5', '1796139893671', 'ApprovalRequested', E'{"_tag":"ApprovalRequested","approval":"a619e108-a484-44d7-8a31-9884810b099e","approvers":[],"arguments":{"order":"7"},"call":"0/2.0","digest":"88274cd0c70a097187a07c6c23c76eee55262f4361407012486c29078092d756","payload":{"agent_name":"clerk","args_summary":"order: \\"7\\"","correlation_id":"a619e108-a484-44d7-8a31-9884810b099e","effect_description":"","tool_name":"refund"},"policy_version":"1","proposal":"37e54d880a68631cbb9b0c37deb6261f9e1426f3d45668646a74c48def4255f7","shown_digest":"90c2f00973b08d34750df5aae0210804caf98d4be270520aed820f7a6664a90c","tool_digest":"01b9f45f39918c1ebe08d3e537f196ab0fd9f57e12b2fcac0ade239a6d410932","tool_key":"shop.refund@1"}', NULL);
----
INSERT INTO troupe.run_pairs (run_id, seq, at, type, payload, next) OVERRIDING SYSTEM VALUE
VALUES ('01a23247-c216-731b-b4a8-69d836c6f4d5', '6', '1796139893786', 'ApprovalDecided', '{"_tag":"ApprovalDecided","approval":"a619e108-a484-44d7-8a31-9884810b099e","by":"alice","call":"0/2.0","decision":{"_tag":"Approve"},"digest":"88274cd0c70a097187a07c6c23c76eee55262f4361407012486c29078092d756"}', NULL);
----
INSERT INTO troupe.run_pairs (run_id, seq, at, type, payload, next) OVERRIDING SYSTEM VALUE
VALUES ('01a23247-c216-731b-b4a8-69d836c6f4d5', '7', '1796139893884', NULL, '{"_tag":"CallDispatched","call":"0/2.0","epoch":1,"key":"3032d691868e55b391cb2844e44e7ade7a117d1b8277de5dfc72b674a0e88331","on_loss":"unknown"}', NULL);
----
INSERT INTO troupe.run_pairs (run_id, seq, at, type, payload, next) OVERRIDING SYSTEM VALUE
VALUES ('01a23247-c216-731b-b4a8-69d836c6f4d5', '8', '1796139893900', NULL, E'{"_tag":"CallSettled","call":"0/2.0","ended_at":1796139893900,"outcome":{"_tag":"Value","json":"\\"order 7 is paid back\\""},"started_at":1796139893899}', NULL);
----
INSERT INTO troupe.run_pairs (run_id, seq, at, type, payload, next) OVERRIDING SYSTEM VALUE
VALUES ('01a23247-c216-731b-b4a8-69d836c6f4d5', '9', '1796139893938', NULL, '{"_tag":"ModelTurned","calls":[],"finish":"stop","frame":"0","step":3,"text":"It is paid back."}', '{"_tag":"RunEnded","reason":"complete","status":"complete","text":"It is paid back."}');
----
INSERT INTO troupe.run_pairs (run_id, seq, at, type, payload, next) OVERRIDING SYSTEM VALUE
VALUES ('01a23247-c517-718f-922b-1e8fd50cd461', '0', '1796139894039', NULL, '{"_tag":"RunAccepted","address":{"agent":"clerk","key":"asking"},"by":"alice","conversation":"asking","limits":{"calls_max":1000,"calls_parallel_max":16,"delegations_per_turn_max":2,"depth_max":8,"extensions_max":1,"mistakes_max":10,"nested_depth_max":4,"on_breach":"stop","questions_max":50,"repeats_max":10,"steps_max":25,"tokens_max":0,"wall_ms_max":0,"writes_max":100},"message":"Pay order 7 back.","pins":{"definition":"47ff13d30692aef15ebac6d3a363bb6246dfdd0c7c7728c276af76b96923e225","tools":"9b36ff9065c33ff8ee541346d5b92866ad7e2925fd9292b4b4bc1bc9b3a5b3b1"},"roles":["admin"],"tenant":"acme","trace_id":"01a23247c517718f922b1e8fd50cd461"}', '{"_tag":"RunClaimed","epoch":1,"owner":"b80a0aa2-dacd-4b49-ac29-18ba9bc010c6"}');
----
INSERT INTO troupe.run_pairs (run_id, seq, at, type, payload, next) OVERRIDING SYSTEM VALUE
VALUES ('01a23247-c517-718f-922b-1e8fd50cd461', '2', '1796139894066', NULL, '{"_tag":"ModelTurned","calls":[{"arguments":{"order":"7"},"model_id":"call_0","name":"look"}],"finish":"tool_calls","frame":"0","step":1,"text":""}', E'{"_tag":"CallSettled","call":"0/1.0","ended_at":1796139894066,"outcome":{"_tag":"Value","json":"\\"order 7 is paid\\""},"started_at":1796139894066}');
----
INSERT INTO troupe.run_pairs (run_id, seq, at, type, payload, next) OVERRIDING SYSTEM VALUE
VALUES ('01a23247-c517-718f-922b-1e8fd50cd461', '4', '1796139894079', NULL, '{"_tag":"ModelTurned","calls":[{"arguments":{"order":"7"},"model_id":"call_0","name":"refund"}],"finish":"tool_calls","frame":"0","step":2,"text":""}', NULL);
----
INSERT INTO troupe.run_pairs (run_id, seq, at, type, payload, next) OVERRIDING SYSTEM VALUE
VALUES ('01a23247-c517-718f-922b-1e8fd50cd461', '5', '1796139894097', 'ApprovalRequested', E'{"_tag":"ApprovalRequested","approval":"4da7d05f-f488-4087-989f-de03024ae6e7","approvers":[],"arguments":{"order":"7"},"call":"0/2.0","digest":"a1c48687f562fc965902e72f772596ce219416900ca8a88184cebeed39acc38e","payload":{"agent_name":"clerk","args_summary":"order: \\"7\\"","correlation_id":"4da7d05f-f488-4087-989f-de03024ae6e7","effect_description":"","tool_name":"refund"},"policy_version":"1","proposal":"37e54d880a68631cbb9b0c37deb6261f9e1426f3d45668646a74c48def4255f7","shown_digest":"ab0e482b589e8ac1c6e6e1934753d79119905a14166c3ad90a0d35cb8e58d8f1","tool_digest":"01b9f45f39918c1ebe08d3e537f196ab0fd9f57e12b2fcac0ade239a6d410932","tool_key":"shop.refund@1"}', NULL);
----
INSERT INTO troupe.run_pairs (run_id, seq, at, type, payload, next) OVERRIDING SYSTEM VALUE
VALUES ('01a23247-c57f-76c8-b0e2-11a9c6e75058', '0', '1796139894144', NULL, '{"_tag":"RunAccepted","address":{"agent":"boss","key":"delegated"},"by":"alice","conversation":"delegated","limits":{"calls_max":1000,"calls_parallel_max":16,"delegations_per_turn_max":2,"depth_max":8,"extensions_max":1,"mistakes_max":10,"nested_depth_max":4,"on_breach":"stop","questions_max":50,"repeats_max":10,"steps_max":25,"tokens_max":0,"wall_ms_max":0,"writes_max":100},"message":"Pay order 7 back.","pins":{"definition":"4aa41b813fbd1c92da38660601178c42199eb58ce758bc532bfe5a90d0a1a199","tools":"4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"},"roles":["admin"],"tenant":"acme","trace_id":"01a23247c57f76c8b0e211a9c6e75058"}', '{"_tag":"RunClaimed","epoch":1,"owner":"b80a0aa2-dacd-4b49-ac29-18ba9bc010c6"}');
----
INSERT INTO troupe.run_pairs (run_id, seq, at, type, payload, next) OVERRIDING SYSTEM VALUE
VALUES ('01a23247-c57f-76c8-b0e2-11a9c6e75058', '2', '1796139894166', NULL, '{"_tag":"ModelTurned","calls":[{"arguments":{"task":"Pay order 7 back."},"model_id":"call_0","name":"ask_clerk"}],"finish":"tool_calls","frame":"0","step":1,"text":""}', '{"_tag":"FrameOpened","agent":"clerk","call":"0/1.0","frame":"0/1.0","input":"Pay order 7 back."}');
----
INSERT INTO troupe.run_pairs (run_id, seq, at, type, payload, next) OVERRIDING SYSTEM VALUE
VALUES ('01a23247-c57f-76c8-b0e2-11a9c6e75058', '4', '1796139894196', NULL, '{"_tag":"ModelTurned","calls":[{"arguments":{"order":"7"},"model_id":"call_0","name":"look"}],"finish":"tool_calls","frame":"0/1.0","step":1,"text":""}', E'{"_tag":"CallSettled","call":"0/1.0/1.0","ended_at":1796139894196,"outcome":{"_tag":"Value","json":"\\"order 7 is paid\\""},"started_at":1796139894196}');
----
INSERT INTO troupe.run_pairs (run_id, seq, at, type, payload, next) OVERRIDING SYSTEM VALUE
VALUES ('01a23247-c57f-76c8-b0e2-11a9c6e75058', '6', '1796139894208', NULL, '{"_tag":"ModelTurned","calls":[{"arguments":{"order":"7"},"model_id":"call_0","name":"refund"}],"finish":"tool_calls","frame":"0/1.0","step":2,"text":""}', NULL);
----
INSERT INTO troupe.run_pairs (run_id, seq, at, type, payload, next) OVERRIDING SYSTEM VALUE
VALUES ('01a23247-c57f-76c8-b0e2-11a9c6e75058', '7', '1796139894225', 'ApprovalRequested', E'{"_tag":"ApprovalRequested","approval":"9c1d2c66-f157-4d87-b7d0-75eb27531c8d","approvers":[],"arguments":{"order":"7"},"call":"0/1.0/2.0","digest":"f61e9b502e360ef2fe1981cf4d73f291775b11725c9042a9502682b05291b341","payload":{"agent_name":"clerk","args_summary":"order: \\"7\\"","correlation_id":"9c1d2c66-f157-4d87-b7d0-75eb27531c8d","effect_description":"","tool_name":"refund"},"policy_version":"1","proposal":"37e54d880a68631cbb9b0c37deb6261f9e1426f3d45668646a74c48def4255f7","shown_digest":"b02481a42ba799d8932fddedbc9a45007936e4a1ba0d60592ea360398662ed1f","tool_digest":"01b9f45f39918c1ebe08d3e537f196ab0fd9f57e12b2fcac0ade239a6d410932","tool_key":"shop.refund@1"}', NULL);
----
INSERT INTO troupe.run_pairs (run_id, seq, at, type, payload, next) OVERRIDING SYSTEM VALUE
VALUES ('01a23247-c600-753e-a887-23d73f9dca74', '0', '1796139894272', NULL, '{"_tag":"RunAccepted","address":{"agent":"printer","key":"queued"},"by":"alice","conversation":"queued","limits":{"calls_max":1000,"calls_parallel_max":16,"delegations_per_turn_max":2,"depth_max":8,"extensions_max":1,"mistakes_max":10,"nested_depth_max":4,"on_breach":"stop","questions_max":50,"repeats_max":10,"steps_max":25,"tokens_max":0,"wall_ms_max":0,"writes_max":100},"message":"Pay order 7 back.","pins":{"definition":"3733937dbcf89f2e02606767ffc8ce44a25a945f6495e81efe1e1b5a600624bc","tools":"4974aa3c027f3b676b65b81a69047d56a6fa92022d75da09940d98faae963581"},"roles":["admin"],"tenant":"acme","trace_id":"01a23247c600753ea88723d73f9dca74"}', '{"_tag":"RunClaimed","epoch":1,"owner":"b80a0aa2-dacd-4b49-ac29-18ba9bc010c6"}');
----
INSERT INTO troupe.run_pairs (run_id, seq, at, type, payload, next) OVERRIDING SYSTEM VALUE
VALUES ('01a23247-c600-753e-a887-23d73f9dca74', '2', '1796139894293', NULL, '{"_tag":"ModelTurned","calls":[{"arguments":{"order":"7"},"model_id":"call_0","name":"print"}],"finish":"tool_calls","frame":"0","step":1,"text":""}', '{"_tag":"CallDispatched","call":"0/1.0","epoch":1,"key":"c9c53bf9a43e9e4aaed2d2cc9227b100b579b79d4c81fbb5d369f2db3ddd9bbb","on_loss":"ask","over_at":1796139898292,"tool":"shop.print@1","via":"queue"}');
----
INSERT INTO troupe.runs (run_id, tenant, epoch, length, status) OVERRIDING SYSTEM VALUE
VALUES ('01a23247-c216-731b-b4a8-69d836c6f4d5', 'acme', '1', '11', '3');
----
INSERT INTO troupe.runs (run_id, tenant, epoch, length, status) OVERRIDING SYSTEM VALUE
VALUES ('01a23247-c517-718f-922b-1e8fd50cd461', 'acme', '1', '6', '-1');
----
INSERT INTO troupe.runs (run_id, tenant, epoch, length, status) OVERRIDING SYSTEM VALUE
VALUES ('01a23247-c57f-76c8-b0e2-11a9c6e75058', 'acme', '1', '8', '-1');
----
INSERT INTO troupe.runs (run_id, tenant, epoch, length, status) OVERRIDING SYSTEM VALUE
VALUES ('01a23247-c600-753e-a887-23d73f9dca74', 'acme', '1', '4', '1');
----
INSERT INTO troupe.tool_messages (id, tool, tenant, payload, expires_at, status, due_at, place, deliveries, owner, begun_at, result, error, over_at) OVERRIDING SYSTEM VALUE
VALUES ('c9c53bf9a43e9e4aaed2d2cc9227b100b579b79d4c81fbb5d369f2db3ddd9bbb', 'shop.print@1', 'acme', '{"arguments":{"order":"7"},"id":"c9c53bf9a43e9e4aaed2d2cc9227b100b579b79d4c81fbb5d369f2db3ddd9bbb","loop_id":"01a23247-c600-753e-a887-23d73f9dca74","metadata":{"call":"0/1.0","nested":{"depth_max":4,"nesting":{"depth":1},"spent":false},"permission":"allow","principal":"alice","repeatable":false},"name":"shop.print@1","trace_id":"01a23247c600753ea88723d73f9dca74"}', '1796139895811', '0', '1796139894311', '1', '0', NULL, NULL, NULL, NULL, NULL);
----
SELECT setval('troupe.approvals_position_seq', 3)::text;
----
SELECT setval('troupe.conversations_position_seq', 4)::text;
----
SELECT setval('troupe.tool_messages_place_seq', 1)::text;
