-- name: Conversations :many
SELECT id, title, created_at, parent, fork_round, settings FROM conversations ORDER BY num DESC LIMIT ?;

-- name: Conversation :one
SELECT id, title, created_at, parent, fork_round, settings FROM conversations WHERE id = ?;

-- name: Turns :many
SELECT n, key, first_seq, state, reason, rounds, tokens, started_at FROM turns WHERE conversation = ? ORDER BY n;

-- name: Rounds :many
SELECT n, turn, key, digest, seq, results_seq, closed, calls FROM rounds WHERE conversation = ? ORDER BY n;

-- name: Calls :many
SELECT round, idx, sub, provider_id, tool, state, outcome, attempt, fence, created_at, started_at, settled_at, args_sha256, args
FROM calls
WHERE conversation = sqlc.arg(conversation) AND round >= sqlc.arg(first) AND round <= sqlc.arg(last)
ORDER BY round, idx, sub;

-- name: Results :many
SELECT r.round, r.idx, r.sub, c.tool, c.state, r.is_error, r.bytes, r.lines, r.chars, r.sha256, r.tokens, r.duration_ns, r.shown_sha256,
       CAST(r.shown IS NOT NULL AS INTEGER) AS has_shown, CAST(r.whole IS NOT NULL AS INTEGER) AS has_whole,
       s.name, s.file, s.bytes AS spill_bytes, s.lines AS spill_lines, s.chars AS spill_chars,
       s.sha256 AS spill_sha256, s.complete, s.newlines
FROM results r
JOIN calls c ON c.conversation = r.conversation AND c.round = r.round AND c.idx = r.idx AND c.sub = r.sub
LEFT JOIN spills s ON s.conversation = r.conversation AND s.name = r.spill
WHERE r.conversation = sqlc.arg(conversation) AND r.round >= sqlc.arg(first) AND r.round <= sqlc.arg(last)
ORDER BY r.round, r.idx, r.sub;

-- name: Result :one
SELECT c.tool, c.state, r.is_error, r.bytes, r.lines, r.chars, r.sha256, r.tokens, r.duration_ns,
       r.notes, CAST(r.notes IS NOT NULL AS INTEGER) AS has_notes,
       r.structured, CAST(r.structured IS NOT NULL AS INTEGER) AS has_structured,
       r.shown, CAST(r.shown IS NOT NULL AS INTEGER) AS has_shown, r.shown_sha256,
       r.whole, CAST(r.whole IS NOT NULL AS INTEGER) AS has_whole,
       s.name, s.file, s.bytes AS spill_bytes, s.lines AS spill_lines, s.chars AS spill_chars,
       s.sha256 AS spill_sha256, s.complete, s.newlines
FROM results r
JOIN calls c ON c.conversation = r.conversation AND c.round = r.round AND c.idx = r.idx AND c.sub = r.sub
LEFT JOIN spills s ON s.conversation = r.conversation AND s.name = r.spill
WHERE r.conversation = ? AND r.round = ? AND r.idx = ? AND r.sub = ?;

-- name: Messages :many
SELECT seq, turn, round, role, codec, sha256, body FROM messages WHERE conversation = sqlc.arg(conversation) AND seq > sqlc.arg(after) ORDER BY seq;

-- name: Epochs :many
SELECT n, dialect, reason, base, base_count, head_sha256, fingerprint, head, tail
FROM epochs WHERE conversation = ? ORDER BY n;

-- name: Requests :many
SELECT n, epoch, last_pos, head_sha256, chain, message_bytes, total_bytes,
       usage_in, usage_out, cache_read, cache_write, latency_ns, outcome
FROM requests WHERE conversation = ? ORDER BY n;

-- name: Events :many
SELECT seq, kind, data FROM events WHERE conversation = sqlc.arg(conversation) AND seq > sqlc.arg(after) ORDER BY seq;

-- name: Spills :many
SELECT name, file, bytes, lines, chars, sha256, complete, newlines FROM spills WHERE conversation = ? ORDER BY name;

-- name: LatestRound :one
SELECT n, turn, key, digest, seq, results_seq, closed, calls FROM rounds WHERE conversation = ? ORDER BY n DESC LIMIT 1;

-- name: RoundOfKey :one
SELECT n, turn, key, digest, seq, results_seq, closed, calls FROM rounds WHERE conversation = ? AND key = ?;

-- name: KeepsFile :one
SELECT EXISTS (SELECT 1 FROM spills WHERE conversation = ? AND file = ?);
