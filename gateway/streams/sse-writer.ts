// Writes server-sent events of chat completions. Pure.

const encoder = new TextEncoder();

/** Response headers of a stream. */
export const sseHeaders: Readonly<Record<string, string>> = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
};

/** A frame. @param json may have several lines. */
export function frame(json: string): string {
  const isOneLine = !json.includes('\n') && !json.includes('\r');
  return isOneLine ? `data: ${json}\n\n` : `data: ${json.split(/\r\n|\n|\r/).join('\ndata: ')}\n\n`;
}

export const DONE_FRAME = frame('[DONE]');

/** Keep-alive comment for an idle connection. */
export const KEEP_ALIVE = ': keepalive\n\n';

export const encodeFrames = (frames: string): Uint8Array => encoder.encode(frames);
