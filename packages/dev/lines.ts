// Lines of a text that comes in pieces. connection.ts and events.ts read JSON by them.

/** @param charsMax of a line that has not ended yet. @throws {RangeError} for a longer one. */
export async function* linesOf(pieces: AsyncIterable<string>, charsMax = Infinity): AsyncGenerator<string> {
  let rest = '';
  for await (const piece of pieces) {
    const lines = (rest + piece).split('\n');
    rest = lines.pop()!;
    if (rest.length > charsMax) throw new RangeError(`A line is longer than ${charsMax} characters`);
    yield* lines;
  }
}
