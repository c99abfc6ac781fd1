// Writes one file of an untrusted archive, as its bytes arrive. Called by receive-artifact.ts and by the builder,
// which takes artifacts from sandboxes.
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';

/**
 * Never overwrites an existing file, and never follows a link.
 *
 * @param options `mode`: permissions of the file. `flush`: whether the file is on disk when this resolves; false by
 * default.
 * @throws {NodeJS.ErrnoException} `EEXIST` if the name exists; errors of `content`.
 */
export async function writeNew(
  file: string,
  content: AsyncIterable<Uint8Array>,
  options: { readonly mode: number; readonly flush?: boolean },
): Promise<void> {
  const stream = createWriteStream(file, { flags: 'wx', ...options });
  const failed = new Promise<never>((_, reject) => stream.once('error', reject));
  failed.catch(() => {});
  try {
    for await (const chunk of content) if (!stream.write(chunk)) await Promise.race([once(stream, 'drain'), failed]);
    stream.end();
    await Promise.race([once(stream, 'close'), failed]);
  } finally {
    stream.destroy();
  }
}
