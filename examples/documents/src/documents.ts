// Stores a document: its parts, and their embeddings.

/** Texts sent to the model at a time. */
const TEXTS_A_CALL = 50;
/** That of `part_vectors` in migrations/. */
const DIMENSIONS = 256;

/** The embeddings of texts, as a database stores them. */
export async function embed(env: PlatformEnv, texts: readonly string[]): Promise<Float32Array[]> {
  const vectors: Float32Array[] = [];
  for (let at = 0; at < texts.length; at += TEXTS_A_CALL) {
    const { data } = await env.AI.run(env.vars['EMBEDDING_MODEL'] ?? 'mock/embed', {
      input: texts.slice(at, at + TEXTS_A_CALL),
      dimensions: DIMENSIONS,
    });
    for (const { embedding } of data) vectors.push(new Float32Array(embedding));
  }
  return vectors;
}

/** Stores it; another one of the same title is replaced, at once for every reader. */
export async function storeDocument(env: PlatformEnv, title: string, parts: readonly string[]): Promise<void> {
  const vectors = await embed(env, parts);
  await env.DB.transaction(async (tx) => {
    const old = 'SELECT parts.id FROM parts JOIN documents ON documents.id = document_id WHERE title = ?';
    await tx.prepare(`DELETE FROM part_vectors WHERE rowid IN (${old})`).bind(title).run();
    await tx.prepare(`DELETE FROM parts WHERE id IN (${old})`).bind(title).run();
    await tx.prepare('INSERT OR IGNORE INTO documents (title) VALUES (?)').bind(title).run();
    for (const [index, text] of parts.entries()) {
      await tx
        .prepare('INSERT INTO parts (document_id, number, text) SELECT id, ?, ? FROM documents WHERE title = ?')
        .bind(index + 1, text, title)
        .run();
      await tx
        .prepare('INSERT INTO part_vectors (rowid, embedding) VALUES (last_insert_rowid(), ?)')
        .bind(vectors[index]!)
        .run();
    }
  });
}
