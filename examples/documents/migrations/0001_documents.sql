CREATE TABLE documents (id INTEGER PRIMARY KEY, title TEXT NOT NULL UNIQUE);

CREATE TABLE parts (
  id INTEGER PRIMARY KEY,
  document_id INTEGER NOT NULL REFERENCES documents (id),
  number INTEGER NOT NULL,
  text TEXT NOT NULL
);

CREATE INDEX parts_of_document ON parts (document_id);

-- The embedding of each part. Another model: the same number of dimensions, and all documents stored again.
CREATE VIRTUAL TABLE part_vectors USING vec0(embedding float[256] distance_metric=cosine, chunk_size=256);
