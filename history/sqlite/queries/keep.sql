-- name: CutSeq :one
SELECT results_seq FROM rounds WHERE conversation = ? AND n = ? AND closed = 1;

-- name: LastClosedRound :one
SELECT CAST(coalesce(max(n), 0) AS INTEGER) FROM rounds WHERE conversation = ? AND closed = 1;

-- name: CutAt :one
SELECT epoch, pos FROM fragments WHERE conversation = ? AND seq = ? ORDER BY epoch, pos LIMIT 1;

-- name: ForkTurns :exec
INSERT INTO turns (conversation, n, key, first_seq, state, reason, rounds, tokens, started_at)
SELECT sqlc.arg(child), n, key, first_seq, state, reason, rounds, tokens, started_at
FROM turns AS old WHERE old.conversation = sqlc.arg(parent) AND old.first_seq <= sqlc.arg(seq);

-- name: EndForkedTurns :exec
UPDATE turns SET state = 'ended', reason = 'forked'
WHERE turns.conversation = sqlc.arg(child) AND (state <> 'ended' OR EXISTS (
    SELECT 1 FROM messages m WHERE m.conversation = sqlc.arg(parent) AND m.turn = turns.n AND m.seq > sqlc.arg(seq)));

-- name: ForkMessages :exec
INSERT INTO messages (conversation, seq, turn, round, role, codec, sha256, body)
SELECT sqlc.arg(child), seq, turn, round, role, codec, sha256, body
FROM messages AS old WHERE old.conversation = sqlc.arg(parent) AND old.seq <= sqlc.arg(seq);

-- name: ForkEpochs :exec
INSERT INTO epochs (conversation, n, dialect, reason, base, base_count, head_sha256, fingerprint, head, tail)
SELECT sqlc.arg(child), n, dialect, reason, base, base_count, head_sha256, fingerprint, head, tail
FROM epochs AS old WHERE old.conversation = sqlc.arg(parent) AND old.n <= sqlc.arg(epoch);

-- name: ForkFragments :exec
INSERT INTO fragments (conversation, epoch, pos, seq, encoder, chain, bytes)
SELECT sqlc.arg(child), epoch, pos, seq, encoder, chain, bytes
FROM fragments AS old WHERE old.conversation = sqlc.arg(parent)
  AND (old.epoch < sqlc.arg(epoch) OR (old.epoch = sqlc.arg(epoch) AND old.pos <= sqlc.arg(pos)));

-- name: ForkRounds :exec
INSERT INTO rounds (conversation, n, turn, key, digest, seq, results_seq, closed, calls)
SELECT sqlc.arg(child), n, turn, key, digest, seq, results_seq, closed, calls
FROM rounds AS old WHERE old.conversation = sqlc.arg(parent) AND old.n <= sqlc.arg(round);

-- name: ForkCalls :exec
INSERT INTO calls (conversation, round, idx, sub, parent_sub, provider_id, tool, state, outcome, attempt, fence,
    created_at, started_at, settled_at, args_sha256, args)
SELECT sqlc.arg(child), round, idx, sub, parent_sub, provider_id, tool, state, outcome, attempt, fence,
    created_at, started_at, settled_at, args_sha256, args
FROM calls AS old WHERE old.conversation = sqlc.arg(parent) AND old.round <= sqlc.arg(round) ORDER BY round, idx, sub;

-- name: ForkSpill :exec
INSERT INTO spills (conversation, name, file, bytes, lines, chars, sha256, complete, newlines)
SELECT sqlc.arg(child), name, sqlc.arg(file), bytes, lines, chars, sha256, complete, newlines
FROM spills AS old WHERE old.conversation = sqlc.arg(parent) AND old.name = sqlc.arg(name);

-- name: ForkResults :exec
INSERT INTO results (conversation, round, idx, sub, spill, is_error, bytes, lines, chars, sha256, tokens,
    duration_ns, notes, structured, shown, shown_sha256, whole)
SELECT sqlc.arg(child), round, idx, sub, spill, is_error, bytes, lines, chars, sha256, tokens,
    duration_ns, notes, structured, shown, shown_sha256, whole
FROM results AS old WHERE old.conversation = sqlc.arg(parent) AND old.round <= sqlc.arg(round);

-- name: ForkApprovals :exec
INSERT INTO approvals (conversation, round, idx, sub, digest, state, reason, asked_at, answered_at, used_at)
SELECT sqlc.arg(child), round, idx, sub, digest, state, reason, asked_at, answered_at, used_at
FROM approvals AS old WHERE old.conversation = sqlc.arg(parent) AND old.round <= sqlc.arg(round);

-- name: ForkRequests :exec
INSERT INTO requests (conversation, n, epoch, last_pos, head_sha256, chain, message_bytes, total_bytes, usage_in,
    usage_out, cache_read, cache_write, latency_ns, outcome)
SELECT sqlc.arg(child), n, epoch, last_pos, head_sha256, chain, message_bytes, total_bytes, usage_in,
    usage_out, cache_read, cache_write, latency_ns, outcome
FROM requests AS old WHERE old.conversation = sqlc.arg(parent)
  AND (old.epoch < sqlc.arg(epoch) OR (old.epoch = sqlc.arg(epoch) AND old.last_pos < sqlc.arg(pos)));

-- name: ForkEvents :exec
INSERT INTO events (conversation, seq, kind, data)
SELECT sqlc.arg(child), seq, kind, data
FROM events AS old WHERE old.conversation = sqlc.arg(parent) AND old.seq <= sqlc.arg(seq);

-- name: DeleteConversation :execrows
DELETE FROM conversations WHERE id = ?;
