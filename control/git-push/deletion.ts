// Reads a push that does nothing but delete branches and tags: such a push is taken whatever is full. Called by
// git-push.ts.

/** Of all commands of a push: 5,000 branches. */
const COMMANDS_BYTES_MAX = 1024 * 1024;
const LENGTH_CHARS = 4;
/** Old commit, a new one that is none, and the ref; behind the first one's NUL the client's capabilities. */
const DELETION = /^[0-9a-f]+ 0+ [^\0]+(?:\0|$)/;

/**
 * Reads the body of a push to its end, since Git shows an answer only when all is sent.
 *
 * @returns null for one that does anything else; nothing of it is kept.
 */
export async function readDeletion(request: Request): Promise<Uint8Array | null> {
  // Git compresses no push.
  let isPossible = !request.headers.has('content-encoding');
  let bytes = Buffer.alloc(0);
  let length = 0;
  let checked = 0;
  for await (const chunk of request.body ?? []) {
    if (!isPossible) continue;
    // Doubled, so that many small chunks cost no more than one large one: for the copies, and for the checks.
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

/** Whether there are deletions only, and nothing behind them. @param isWhole no more of it comes. */
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
