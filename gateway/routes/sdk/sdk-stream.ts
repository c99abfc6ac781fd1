// Converts a chat-completions stream to an AI SDK stream, event by event. If the converted stream is closed, the source
// is closed too.
import { isJson, type Json } from '../../contract/chat.ts';
import { SseReader } from '../../streams/sse-reader.ts';
import { DONE_FRAME, encodeFrames, frame, KEEP_ALIVE } from '../../streams/sse-writer.ts';
import type { PartReader } from './stream-parts.ts';

export function openSdkStream(
  chat: ReadableStream<Uint8Array>,
  parts: PartReader,
  charactersMax: number,
): ReadableStream<Uint8Array> {
  const reader = chat.getReader();
  const events = new SseReader(charactersMax);
  let isOver = false;
  let begun = parts.start();
  const put = (all: readonly Json[]): string => all.map((part) => frame(JSON.stringify(part))).join('');
  const read = (data: string): string => {
    if (isOver) return '';
    isOver = data === '[DONE]';
    if (isOver) return put(parts.end(null)) + DONE_FRAME;
    const chunk = JSON.parse(data) as Json;
    isOver = isJson(chunk['error']);
    return put(isJson(chunk['error']) ? parts.end(chunk['error']) : parts.take(chunk));
  };
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await reader.read();
        let frames = put(begun);
        begun = [];
        if (done) {
          if (frames !== '') controller.enqueue(encodeFrames(frames));
          controller.close();
          return;
        }
        const found = events.push(value);
        for (const { data } of found) frames += read(data);
        // Bytes from the gateway without an event are a keep-alive comment.
        controller.enqueue(encodeFrames(frames === '' ? KEEP_ALIVE : frames));
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}
