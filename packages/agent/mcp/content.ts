// Converts the result of a server's tool to text for the model. Called by manifest.ts and client.ts.

/** @param whole the text for a result without content. */
export function contentText(result: unknown, whole: string): string {
  const { content, structuredContent, isError } = (result ?? {}) as Record<string, unknown>;
  const parts = Array.isArray(content) ? content.map(partText) : [];
  const said =
    parts.length > 0 ? parts.join('\n') : structuredContent !== undefined ? JSON.stringify(structuredContent) : whole;
  return isError === true ? `Error: ${said}` : said;
}

function partText(part: unknown): string {
  const { type, text, mimeType, uri, resource } = (part ?? {}) as Record<string, unknown>;
  if (typeof text === 'string') return text;
  const inner = (resource ?? {}) as Record<string, unknown>;
  if (typeof inner['text'] === 'string') return inner['text'];
  // Images and audio in base64 are of no use to the model.
  const what = [type, mimeType ?? inner['mimeType'], uri ?? inner['uri']].filter((word) => typeof word === 'string');
  return `[${what.join(' ') || 'content that is not text'}]`;
}
