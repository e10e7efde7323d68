-- name: AskApproval :execrows
INSERT INTO approvals (conversation, round, idx, sub, digest, state, reason, asked_at, answered_at, used_at)
VALUES (?, ?, ?, ?, ?, 'asked', '', ?, 0, 0)
ON CONFLICT (conversation, round, idx, sub) DO UPDATE
SET digest = excluded.digest, state = 'asked', reason = '', asked_at = excluded.asked_at, answered_at = 0
WHERE state <> 'used';

-- name: AnswerApproval :execrows
UPDATE approvals SET state = ?, reason = ?, answered_at = ?
WHERE conversation = ? AND round = ? AND idx = ? AND sub = ? AND state = 'asked';

-- name: UseApproval :execrows
UPDATE approvals SET state = 'used', used_at = ?
WHERE conversation = ? AND round = ? AND idx = ? AND sub = ? AND digest = ? AND state = 'granted';

-- name: HasApproval :one
SELECT EXISTS (SELECT 1 FROM approvals WHERE conversation = ? AND round = ? AND idx = ? AND sub = ?);

-- name: Approvals :many
SELECT round, idx, sub, digest, state, reason, asked_at, answered_at FROM approvals
WHERE conversation = sqlc.arg(conversation) AND round >= sqlc.arg(first) AND round <= sqlc.arg(last)
ORDER BY round, idx, sub;
