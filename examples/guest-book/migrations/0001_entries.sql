CREATE TABLE entries (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  user_id TEXT NOT NULL,
  author TEXT NOT NULL,
  text TEXT NOT NULL,
  created_at INTEGER NOT NULL, -- ms since 1970
  deleted_at INTEGER
);
CREATE INDEX entries_by_user ON entries (user_id);
