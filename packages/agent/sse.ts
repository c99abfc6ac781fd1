// Parses server-sent events: of models (stream.ts) and of MCP servers (mcp/exchange.ts).

/** The data of each event, even if characters or line breaks are split between chunks. */
export async function* eventsOf(stream: ReadableStream<Uint8Array>, charsMax: number): AsyncGenerator<string> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  let gathered: string[] = [];
  let length = 0;
  let isCut = false;
  let data: string[] = [];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      const piece = done ? decoder.decode() : decoder.decode(value, { stream: true });
      // Chunks of a long line are only collected, because searching the whole line each time would take seconds.
      gathered.push(piece);
      if ((length += piece.length) > charsMax)
        throw new Error(`A line of the stream is too long: it may have ${charsMax} characters`);
      if (!done && !/[\r\n]/.test(piece) && !isCut) continue;
      rest = gathered.join('');
      // A carriage return at the end may be half of a line break.
      const held = !done && rest.endsWith('\r') ? 1 : 0;
      const lines = rest.slice(0, rest.length - held).split(/\r\n|\n|\r/);
      rest = lines.pop()! + rest.slice(rest.length - held, rest.length);
      gathered = [rest];
      length = rest.length;
      isCut = held === 1;
      if (done) lines.push(rest, '');
      for (const line of lines) {
        if (line.startsWith('data:')) data.push(line.slice(line.startsWith('data: ') ? 6 : 5));
        else if (line === '' && data.length > 0) {
          yield data.join('\n');
          data = [];
        }
      }
      if (done) return;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}
