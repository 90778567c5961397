/**
 * A message in few statements: the functions that accept tasks and begin their runs, several at a time.
 *
 * A batch leaves out what another transaction holds, unless it `waits`: one stopped writer keeps nobody else from being served,
 * and two batches never wait for each other in a ring. Both functions need READ COMMITTED: what they read behind a lock is
 * younger than the lock.
 */
import { by_key } from "./0001_plans.ts"

export const statements: ReadonlyArray<string> = [
  /*
   * Accepts messages: for each its conversation (made if it is new), the user's message and the task. Where no other task of
   * the address waits, and the address is that of the conversation, the task's run begins in the same statement, claimed at
   * epoch 1: nothing needs to be delivered then. Otherwise an outbox message dispatches the task.
   *
   * One statement writes all rows of a batch: what a statement costs beside its rows is most of what the server does for a message
   * (bench row `send-durable`).
   *
   * The arrays have an entry for each task, in which an empty text means that there is none. No two tasks of a batch have the
   * same address.
   *
   * - `keys`: idempotency keys.
   * - `rooms`: how many tasks of the address may wait, the new one not counted; below 0 = the task has to begin its conversation.
   * - `owners`: who claims a run that begins here. `accepted`, `claimed`: its two events.
   * - `claims`, `ends`: who begins the run later, and until when (ms since 1970). Where no other task of the address waits and
   *   the run does not begin here, the dispatch is held by this claim, as if a relay had claimed it, and nobody is woken.
   * - `titles`, `notes` (its metadata): of the conversation, if it is made here.
   * - `answers`: what an imported history answered, which is a message behind the user's.
   * - `afters`: the number of the task that has to be the newest of the conversation; below 0 = any may be.
   *
   * Gives a row for each place in the batch, from 1, unless it left that task out: because another transaction holds what the
   * task needs, if it does not `wait`, or has just made the conversation. `outcome`:
   *
   * - `created`: with its number in the conversation, whether its run has begun, and whether the claim holds its dispatch.
   * - `known`: the key's task is `earlier`. `other_message`: it is a task with another message, conversation or agent.
   * - `other_address`: the conversation is that of another address.
   * - `overtaken`: another task is the newest of the conversation.
   * - `full`: `waiting` tasks wait, and there is no room for another; or the conversation had to be new.
   *
   * The row of a conversation orders its tasks, and with them the runs that begin here.
   */
  `CREATE FUNCTION troupe.accept_messages(
  ids uuid[], messages uuid[], tenants text[], agents text[], address_keys text[], conversations text[],
  contents text[], senders text[], traces text[], channels text[], initiators text[], triggers text[], beginners text[],
  keys text[], rooms int4[], times int8[], outbox_keys text[], owners text[], accepted text[], claimed text[],
  claims text[], ends int8[], titles text[], notes text[], answers text[], afters int4[], waits boolean)
RETURNS TABLE (place int4, outcome text, ordinal int4, begun boolean, held boolean, waiting int4, earlier text)
LANGUAGE plpgsql ${by_key} AS $body$
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
END $body$`,
  /*
   * Begins runs whose dispatch a claim holds, and claims each for its owner: the run with the events `accepted` and
   * `claimed`, at epoch 1; its task is at work; the dispatch leaves the outbox, and its key is free for its next message. A batch
   * goes through its runs in the order of their keys in the outbox.
   *
   * Gives a row for each place in the batch, from 1, unless it left that run out. `begun` is false where the claim does not
   * hold the dispatch any more, which changes nothing, and where the run has begun already, which removes the dispatch.
   */
  `CREATE FUNCTION troupe.begin_runs(
  ids text[], messages text[], claims text[], tenants text[], agents text[], address_keys text[], conversations text[],
  ordinals int4[], owners text[], times text[], accepted text[], claimed text[], outbox_keys text[], waits boolean)
RETURNS TABLE (place int4, begun boolean) LANGUAGE plpgsql ${by_key} AS $body$
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
END $body$`
]
