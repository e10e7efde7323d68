-- What the next write of a conversation has to follow.

-- name: LastMessage :one
SELECT CAST(coalesce(max(seq), 0) AS INTEGER) FROM messages WHERE conversation = ?;

-- name: LastEvent :one
SELECT CAST(coalesce(max(seq), 0) AS INTEGER) FROM events WHERE conversation = ?;

-- name: LastRequest :one
SELECT CAST(coalesce(max(n), 0) AS INTEGER) FROM requests WHERE conversation = ?;

-- name: LastTurn :one
SELECT n, state FROM turns WHERE conversation = ? ORDER BY n DESC LIMIT 1;

-- name: LastRound :one
SELECT n FROM rounds WHERE conversation = ? ORDER BY n DESC LIMIT 1;

-- name: OpenRounds :many
SELECT n, turn, seq, calls FROM rounds WHERE conversation = ? AND closed = 0 ORDER BY n;

-- name: LastEpoch :one
SELECT n FROM epochs WHERE conversation = ? ORDER BY n DESC LIMIT 1;

-- name: EpochBase :one
SELECT base, base_count, head_sha256 FROM epochs WHERE conversation = ? AND n = ?;

-- name: LastFragment :one
SELECT pos, chain FROM fragments WHERE conversation = ? AND epoch = ? ORDER BY pos DESC LIMIT 1;

-- name: ChainAt :one
SELECT chain FROM fragments WHERE conversation = ? AND epoch = ? AND pos = ?;

-- name: OpenCalls :many
SELECT c.idx, c.sub, c.state, c.attempt,
       CAST(r.whole IS NOT NULL AS INTEGER) AS inline, CAST(r.spill IS NOT NULL AS INTEGER) AS spilled, r.sha256
FROM calls c
LEFT JOIN results r ON r.conversation = c.conversation AND r.round = c.round AND r.idx = c.idx AND r.sub = c.sub
WHERE c.conversation = ? AND c.round = ?
ORDER BY c.idx, c.sub;

-- name: CallState :one
SELECT state FROM calls WHERE conversation = ? AND round = ? AND idx = ? AND sub = ?;
