// Recognizes pushes that only delete branches and tags, which are accepted even if storage is full. Called by
// git-push.ts.

/** Maximum size of all commands of a push: about 5,000 branches. */
const COMMANDS_BYTES_MAX = 1024 * 1024;
const LENGTH_CHARS = 4;
/** Old commit, new commit of zeros, and the ref; the first command adds the client's capabilities after a NUL. */
const DELETION = /^[0-9a-f]+ 0+ [^\0]+(?:\0|$)/;

/**
 * Reads the body of a push to its end, since Git shows a response only after sending everything.
 *
 * @returns null if the push does anything else; the body is discarded.
 */
export async function readDeletion(request: Request): Promise<Uint8Array | null> {
  // Git does not compress pushes.
  let isPossible = !request.headers.has('content-encoding');
  let bytes = Buffer.alloc(0);
  let length = 0;
  let checked = 0;
  for await (const chunk of request.body ?? []) {
    if (!isPossible) continue;
    // The size of the buffer is doubled, so that many small chunks cost no more than one large chunk.
    if (length + chunk.length > bytes.length)
      bytes = Buffer.concat([bytes.subarray(0, length)], 2 * (length + chunk.length));
    bytes.set(chunk, length);
    length += chunk.length;
    if (length < 2 * checked) continue;
    checked = length;
    isPossible = length <= COMMANDS_BYTES_MAX && isDeletion(bytes.subarray(0, length), false);
  }
  const body = bytes.subarray(0, length);
  return isPossible && length <= COMMANDS_BYTES_MAX && isDeletion(body, true) ? body : null;
}

/** Whether the body consists of deletions only. @param isWhole whether the body is complete. */
function isDeletion(body: Buffer, isWhole: boolean): boolean {
  for (let at = 0; at + LENGTH_CHARS <= body.length;) {
    const length = Number.parseInt(body.toString('latin1', at, at + LENGTH_CHARS), 16);
    if (length === 0) return at + LENGTH_CHARS === body.length;
    if (at + length > body.length) break;
    if (!DELETION.test(body.toString('latin1', at + LENGTH_CHARS, at + length))) return false;
    at += length;
  }
  return !isWhole;
}
