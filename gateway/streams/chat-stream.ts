// A provider's stream on its way to a client: counts what it uses, shows usage only to who asked, and ends in `[DONE]`
// after every answer's finish_reason, else in a frame with an error. Closing either end closes the other.
import { saidLength, tokensOfLength } from '../accounts/estimate.ts';
import { isJson, isList, usedOf, wireUsage, type Json, type Used } from '../contract/chat.ts';
import { errorBody, GatewayError } from '../contract/errors.ts';
import { CHOICES_MAX } from '../contract/request-body.ts';
import type { StreamPiece } from '../contract/wire.ts';
import { DONE_FRAME, encodeFrames, frame, KEEP_ALIVE } from './sse-writer.ts';

/** How a stream ended. */
export interface StreamEnd {
  readonly used: Used;
  /** Null: well. */
  readonly error: GatewayError | null;
}

/** A provider's stream, piece by piece as they arrive together. */
export type Pieces = AsyncIterator<readonly StreamPiece[], void, void>;

interface Parts {
  /** Those that are here already. */
  readonly first: readonly StreamPiece[];
  readonly rest: Pieces;
  /** Whether the client asked for usage. */
  readonly showsUsage: boolean;
  /** What the request is estimated to be, for a stream that does not say. */
  readonly promptTokens: number;
  readonly keepAliveMs: number;
  /** Ends the provider's stream. */
  readonly abort: () => void;
  /** Called once. */
  readonly onEnd: (end: StreamEnd) => void;
}

/** The stream, and how to end it from our side. */
export function openChatStream(parts: Parts): { body: ReadableStream<Uint8Array>; end: (error: GatewayError) => void } {
  const tally = createTally(parts);
  let controller: ReadableStreamDefaultController<Uint8Array>;
  let timer: ReturnType<typeof setInterval> | null = null;
  let isOver = false;

  const over = (error: GatewayError | null): void => {
    isOver = true;
    if (timer !== null) clearInterval(timer);
    parts.onEnd({ used: tally.used(), error });
  };
  const fail = (error: GatewayError): void => {
    if (isOver) return;
    controller.enqueue(encodeFrames(frame(JSON.stringify(errorBody(error)))));
    controller.close();
    over(error);
    parts.abort();
  };
  /** @returns whether anything was written. */
  const pass = (pieces: readonly StreamPiece[]): boolean => {
    let frames = '';
    for (const piece of pieces) {
      if (piece.kind === 'chunk') frames += tally.take(piece.chunk, piece.text);
      if (piece.kind === 'usage') tally.count(piece.used);
      if (piece.kind === 'chunk' || piece.kind === 'usage') continue;
      if (frames !== '') controller.enqueue(encodeFrames(frames));
      if (piece.kind === 'done') finish();
      else fail(new GatewayError('upstream_error', piece.said.message, { as: { status: 502, ...known(piece.said) } }));
      return true;
    }
    if (frames !== '') controller.enqueue(encodeFrames(frames));
    return frames !== '';
  };
  const finish = (): void => {
    if (!tally.isFinished()) return fail(cut());
    controller.enqueue(encodeFrames(tally.usageFrame() + DONE_FRAME));
    controller.close();
    over(null);
    // What a provider still sends behind its end is for nobody.
    return parts.abort();
  };
  let waiting: readonly StreamPiece[] | null = parts.first;
  const next = async (): Promise<void> => {
    if (waiting !== null) {
      const pieces = waiting;
      waiting = null;
      if (pass(pieces)) return;
    }
    while (!isOver) {
      const { done, value } = await parts.rest.next();
      if (isOver) return;
      if (done === true) finish();
      else if (pass(value)) return;
    }
  };

  const body = new ReadableStream<Uint8Array>(
    {
      start(given) {
        controller = given;
      },
      async pull() {
        timer ??= setInterval(() => controller.enqueue(encodeFrames(KEEP_ALIVE)), parts.keepAliveMs);
        timer.refresh();
        try {
          await next();
        } catch (error) {
          // Its last answer was whole: only the count of what it used may be missing.
          if (tally.isFinished() && !isOver) finish();
          else fail(error instanceof GatewayError ? error : cut());
        }
        // A client that takes nothing gets no comments either.
        if (timer !== null) clearInterval(timer);
        timer = null;
      },
      cancel() {
        if (isOver) return;
        over(new GatewayError('client_gone', 'The client closed the connection'));
        parts.abort();
      },
    },
    { highWaterMark: 0 },
  );
  return { body, end: fail };
}

const known = ({ code, type }: { code: string | null; type: string | null }) => ({
  code: code ?? 'upstream_error',
  type: type ?? 'server_error',
});

function cut(): GatewayError {
  return new GatewayError('upstream_error', 'The provider ended the stream before the answer was complete');
}

const NOTHING = { completionTokens: 0, cachedTokens: 0, reasoningTokens: 0, isEstimated: true } as const;

/** Counts what passes. What comes behind the provider's last count, of a stream that ends early, is estimated. */
function createTally({ showsUsage, promptTokens }: Pick<Parts, 'showsUsage' | 'promptTokens'>) {
  const open = new Set<unknown>();
  const finished = new Set<unknown>();
  /** What the provider last counted, and the characters that had come by then. */
  let said: { readonly used: Used; readonly length: number } | null = null;
  let isShown = false;
  let length = 0;
  let last: Json = {};
  const count = (used: Used): void => void (said = { used, length });
  const used = (): Used => {
    const { used: counted, length: countedLength } = said ?? { used: { ...NOTHING, promptTokens }, length: 0 };
    const uncounted = tokensOfLength(length - countedLength);
    if (said !== null && uncounted === 0) return counted;
    return { ...counted, completionTokens: counted.completionTokens + uncounted, isEstimated: true };
  };
  return {
    used,
    count,
    /** @returns the frame to pass on; '' for none. */
    take(chunk: Json, text: string | null): string {
      last = chunk;
      const choices = isList(chunk['choices']) ? chunk['choices'] : [];
      for (const choice of choices) {
        if (!isJson(choice)) continue;
        open.add(choice['index']);
        if (open.size > CHOICES_MAX) throw cut();
        if (typeof choice['finish_reason'] === 'string') finished.add(choice['index']);
        if (isJson(choice['delta'])) length += saidLength(choice['delta']);
      }
      const usage = usedOf(chunk['usage']);
      if (usage !== null) count(usage);
      if (!('usage' in chunk) || showsUsage) {
        isShown ||= usage !== null;
        return frame(text ?? JSON.stringify(chunk));
      }
      if (choices.length === 0) return '';
      const { usage: hidden, ...shown } = chunk;
      void hidden;
      return frame(JSON.stringify(shown));
    },
    isFinished: () => open.size > 0 && open.size === finished.size,
    /** What a client that asked gets from a provider that did not say. */
    usageFrame(): string {
      if (!showsUsage || isShown) return '';
      const { id, created, model } = last;
      const chunk = { id, object: 'chat.completion.chunk', created, model, choices: [], usage: wireUsage(used()) };
      return frame(JSON.stringify(chunk));
    },
  };
}
