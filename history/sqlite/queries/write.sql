-- name: AddMessage :exec
INSERT INTO messages (conversation, seq, turn, round, role, codec, sha256, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?);

-- name: AddEpoch :exec
INSERT INTO epochs (conversation, n, dialect, reason, base, base_count, head_sha256, fingerprint, head, tail)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: AddFragment :exec
INSERT INTO fragments (conversation, epoch, pos, seq, encoder, chain, bytes) VALUES (?, ?, ?, ?, ?, ?, ?);

-- name: AddRequest :exec
INSERT INTO requests (conversation, n, epoch, last_pos, head_sha256, chain, message_bytes, total_bytes,
                      usage_in, usage_out, cache_read, cache_write, latency_ns, outcome)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: EndRequest :execrows
UPDATE requests SET outcome = ?, usage_in = ?, usage_out = ?, cache_read = ?, cache_write = ?, latency_ns = ?
WHERE conversation = ? AND n = ? AND outcome = '';

-- name: AddEvent :exec
INSERT INTO events (conversation, seq, kind, data) VALUES (?, ?, ?, ?);

-- name: AddTurn :exec
INSERT INTO turns (conversation, n, key, first_seq, state, reason, rounds, tokens, started_at)
VALUES (?, ?, ?, ?, 'open', '', 0, 0, ?);

-- name: TurnByKey :one
SELECT n FROM turns WHERE conversation = ? AND key = ?;

-- name: SetTurn :exec
UPDATE turns SET state = ?, reason = ? WHERE conversation = ? AND n = ?;

-- name: UseTurn :exec
UPDATE turns SET rounds = rounds + sqlc.arg(rounds), tokens = tokens + sqlc.arg(tokens)
WHERE conversation = sqlc.arg(conversation) AND n = sqlc.arg(n);

-- name: AddRound :exec
INSERT INTO rounds (conversation, n, turn, key, digest, seq, results_seq, closed, calls)
VALUES (?, ?, ?, ?, ?, ?, 0, 0, ?);

-- name: RoundByKey :one
SELECT n FROM rounds WHERE conversation = ? AND key = ?;

-- name: CloseRound :exec
UPDATE rounds SET closed = 1, results_seq = ? WHERE conversation = ? AND n = ?;

-- name: AddCall :exec
INSERT INTO calls (conversation, round, idx, sub, parent_sub, provider_id, tool, state, outcome, attempt, fence,
                   created_at, started_at, settled_at, args_sha256, args)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, '', ?, ?, ?, ?, 0, ?, ?);

-- name: StartCall :exec
UPDATE calls SET state = ?, attempt = ?, fence = ?, started_at = ?
WHERE conversation = ? AND round = ? AND idx = ? AND sub = ?;

-- name: EndCall :exec
UPDATE calls SET state = ?, outcome = ?, fence = ?, settled_at = ?
WHERE conversation = ? AND round = ? AND idx = ? AND sub = ?;

-- name: AnswerCalls :exec
UPDATE calls SET state = 'answered', fence = ? WHERE conversation = ? AND round = ? AND state = 'settled';

-- name: AddSpill :exec
INSERT INTO spills (conversation, name, file, bytes, lines, chars, sha256, complete, newlines)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: AddResult :exec
INSERT INTO results (conversation, round, idx, sub, spill, is_error, bytes, lines, chars, sha256, tokens,
                     duration_ns, notes, structured, shown, shown_sha256, whole)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: ShowResult :exec
UPDATE results SET shown = sqlc.arg(shown), shown_sha256 = sqlc.narg(shown_sha256), spill = coalesce(spill, sqlc.narg(spill))
WHERE conversation = sqlc.arg(conversation) AND round = sqlc.arg(round) AND idx = sqlc.arg(idx) AND sub = sqlc.arg(sub);
