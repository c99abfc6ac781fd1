// Returns bytes of a project's users: as web streams, and as attachments that browsers do not render.
import { ReadableStream as NodeStream } from 'node:stream/web';

/** Typed as Node's class: the browser type, with which the dashboard checks this folder, lacks `from`. */
export const toWebStream = (parts: AsyncIterable<Uint8Array>) =>
  NodeStream.from(parts) as ReadableStream<Uint8Array<ArrayBuffer>>;

/**
 * A file may be an uploaded HTML page: never render it on our origin. @param path the path of the file, with its name
 */
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
