// The host half of the assets binding (`env.ASSETS.fetch`): returns the same response as a request that does not reach
// the worker.
import { PlatformError } from '#core/errors.ts';
import type { HostCall, HostFunction, HostReply } from '../bridge/host-calls.ts';

/** Response for a static file, without a socket. */
export interface AssetReply {
  readonly status: number;
  readonly headerBlock: string;
  /** Reads the body in pieces; null if the body is `text`. */
  readonly read: (() => AsyncIterable<Uint8Array>) | null;
  /** The body as text; null if the body is empty or comes from `read`. */
  readonly text: string | null;
}

/**
 * Always returns a response: 404 or 405 if there is no file. Combines the asset server and an artifact; created by
 * handler.ts.
 */
type FetchAsset = (request: {
  readonly method: string;
  readonly target: string;
  readonly host: string;
  header(name: string): string | null;
}) => AssetReply | Promise<AssetReply>;

/** The handlers of one deployment's asset binding. */
export function createAssetCalls(fetch: FetchAsset): Readonly<Record<string, HostFunction>> {
  return { 'assets.fetch': async (call) => run(fetch, call) };
}

async function run(fetch: FetchAsset, call: HostCall): Promise<HostReply> {
  const { method, url, headers } = (call.args ?? {}) as Record<string, unknown>;
  const target = typeof url === 'string' ? URL.parse(url) : null;
  if (typeof method !== 'string' || target === null || typeof headers !== 'string')
    throw new PlatformError('invalid_argument', { reason: 'The request to the assets is not valid' });
  const fields = headers.split('\0');
  const header = (name: string): string | null => {
    for (let at = 0; at + 1 < fields.length; at += 2) if (fields[at] === name) return fields[at + 1] as string;
    return null;
  };
  const { status, headerBlock, read, text } = await fetch({
    method,
    target: target.pathname + target.search,
    host: target.host,
    header,
  });
  const head = { status, statusText: '', headers: headerBlock, url: target.href, redirected: false };
  if (read === null || method === 'HEAD')
    return {
      value: { ...head, stream: null, part: text !== null && method !== 'HEAD' },
      parts: text !== null && method !== 'HEAD' ? [text] : [],
    };
  let resume: (() => void) | null = null;
  let cancelled = false;
  const stream = call.isolate.openStream({
    resume: () => resume?.(),
    cancel: () => {
      cancelled = true;
      resume?.();
    },
  });
  // The response names the stream, so it has to be sent before the first chunk.
  setImmediate(async () => {
    try {
      for await (const chunk of read()) {
        if (cancelled) return;
        if (!stream.write(chunk)) await new Promise<void>((resolve) => (resume = resolve));
      }
      stream.end();
    } catch (error) {
      stream.break({
        code: 'internal',
        name: 'TypeError',
        message: error instanceof PlatformError ? error.message : 'The file cannot be read',
      });
    }
  });
  return { value: { ...head, stream: stream.id, part: false } };
}
