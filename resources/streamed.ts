// How bytes that belong to a project's users go out: as streams of the web, and as files that no browser shows.
import { ReadableStream as NodeStream } from 'node:stream/web';

/** Named by Node's own type: that of browsers, by which the dashboard checks this folder, lacks `from`. */
export const toWebStream = (parts: AsyncIterable<Uint8Array>) =>
  NodeStream.from(parts) as ReadableStream<Uint8Array<ArrayBuffer>>;

/** A file may be a page that somebody uploaded: it is never shown as part of ours. @param path with its name */
export function toAttachment(path: string): Record<string, string> {
  const name = encodeURIComponent(path.slice(path.lastIndexOf('/') + 1)).replace(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16)}`,
  );
  return {
    'content-type': 'application/octet-stream',
    'content-security-policy': "sandbox; default-src 'none'",
    'content-disposition': `attachment; filename*=UTF-8''${name}`,
    'x-content-type-options': 'nosniff',
  };
}
