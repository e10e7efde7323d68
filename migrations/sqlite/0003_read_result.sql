-- +goose Up
-- Which call it was that saw the file: the next read that finds it changed names it. Round 0 is nobody.
ALTER TABLE reads ADD COLUMN round INTEGER NOT NULL DEFAULT 0;
ALTER TABLE reads ADD COLUMN idx INTEGER NOT NULL DEFAULT 0;
ALTER TABLE reads ADD COLUMN sub INTEGER NOT NULL DEFAULT 0;
