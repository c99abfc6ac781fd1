// Writes server-sent events of the chat-completions wire. Pure.

const encoder = new TextEncoder();

/** What a stream is answered with. */
export const sseHeaders: Readonly<Record<string, string>> = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
};

/** A frame. @param json on any number of lines. */
export function frame(json: string): string {
  const isOneLine = !json.includes('\n') && !json.includes('\r');
  return isOneLine ? `data: ${json}\n\n` : `data: ${json.split(/\r\n|\n|\r/).join('\ndata: ')}\n\n`;
}

export const DONE_FRAME = frame('[DONE]');

/** What keeps a connection open on which nothing is said. */
export const KEEP_ALIVE = ': keepalive\n\n';

export const encodeFrames = (frames: string): Uint8Array => encoder.encode(frames);
