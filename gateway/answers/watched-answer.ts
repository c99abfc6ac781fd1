// Copies a response to the cache after it was sent to the client completely.
import { isJson, isList, type Json } from '../contract/chat.ts';
import { SseReader } from '../streams/sse-reader.ts';
import { encodeFrames, frame } from '../streams/sse-writer.ts';
import { createCompletionReader } from './completion.ts';

const DONE = '[DONE]';

interface Watch {
  readonly showsUsage: boolean;
  readonly eventCharactersMax: number;
  /** Longer responses are sent, but not cached. */
  readonly charactersMax: number;
  /** Called once. @param completion null if the response failed, or its client disconnected. */
  readonly onEnd: (completion: Json | null) => void;
}

/** @param body a stream that includes usage for the gateway. */
export function watchStream(body: ReadableStream<Uint8Array>, watch: Watch): ReadableStream<Uint8Array> {
  const from = body.getReader();
  const events = new SseReader(watch.eventCharactersMax);
  const whole = createCompletionReader();
  let length = 0;
  let isEnded = false;
  const end = (completion: Json | null): void => {
    if (!isEnded) watch.onEnd(completion);
    isEnded = true;
  };
  const pass = (data: string): string => {
    if (data === DONE) {
      end(whole.completion());
      return frame(DONE);
    }
    const chunk = JSON.parse(data) as unknown;
    if (!isJson(chunk) || 'error' in chunk) return frame(data);
    length += data.length;
    if (length > watch.charactersMax) end(null);
    if (!isEnded) whole.take(chunk);
    if (watch.showsUsage || !('usage' in chunk)) return frame(data);
    const { usage, ...shown } = chunk;
    void usage;
    return isList(chunk['choices']) && chunk['choices'].length === 0 ? '' : frame(JSON.stringify(shown));
  };
  return new ReadableStream(
    {
      async pull(controller) {
        for (;;) {
          const { done, value } = await from.read();
          if (done) {
            end(null);
            return controller.close();
          }
          const found = events.push(value);
          // A keep-alive comment.
          if (found.length === 0) return controller.enqueue(value);
          const frames = found.map(({ data }) => pass(data)).join('');
          if (frames !== '') return controller.enqueue(encodeFrames(frames));
        }
      },
      cancel(reason) {
        end(null);
        return from.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}
