// Splits streamed text into lines. Used by connection.ts and events.ts to read JSON.

/** @param charsMax limit of an unfinished line. @throws {RangeError} for a line that is too long. */
export async function* linesOf(pieces: AsyncIterable<string>, charsMax = Infinity): AsyncGenerator<string> {
  let rest = '';
  for await (const piece of pieces) {
    const lines = (rest + piece).split('\n');
    rest = lines.pop()!;
    if (rest.length > charsMax) throw new RangeError(`A line is longer than ${charsMax} characters`);
    yield* lines;
  }
}
