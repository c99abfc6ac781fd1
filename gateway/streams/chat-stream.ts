// Sends a provider's stream to a client: counts usage, includes it only if the client requested it, and ends with
// `[DONE]` if every answer has a finish_reason, otherwise with an error frame. Closing either end closes the other.
import { saidLength, tokensOfLength } from '../accounts/estimate.ts';
import { isJson, isList, usedOf, wireUsage, type Json, type Used } from '../contract/chat.ts';
import { errorBody, GatewayError } from '../contract/errors.ts';
import { CHOICES_MAX } from '../contract/request-body.ts';
import type { StreamPiece } from '../contract/wire.ts';
import { DONE_FRAME, encodeFrames, frame, KEEP_ALIVE } from './sse-writer.ts';

/** How a stream ended. */
export interface StreamEnd {
  readonly used: Used;
  /** Null: it completed. */
  readonly error: GatewayError | null;
}

/** A provider's stream, in batches of pieces that arrive together. */
export type Pieces = AsyncIterator<readonly StreamPiece[], void, void>;

interface Deps {
  /** Pieces already received. */
  readonly first: readonly StreamPiece[];
  readonly rest: Pieces;
  /** Whether the client requested usage. */
  readonly showsUsage: boolean;
  /** Estimated usage of the request, for a stream that does not report it. */
  readonly promptTokens: number;
  readonly keepAliveMs: number;
  /** Aborts the provider's stream. */
  readonly abort: () => void;
  /** Called once. */
  readonly onEnd: (end: StreamEnd) => void;
}

/** The stream, and a function to end it. */
export function openChatStream(deps: Deps): { body: ReadableStream<Uint8Array>; end: (error: GatewayError) => void } {
  const tally = createTally(deps);
  let controller: ReadableStreamDefaultController<Uint8Array>;
  let timer: ReturnType<typeof setInterval> | null = null;
  let isOver = false;

  const over = (error: GatewayError | null): void => {
    isOver = true;
    if (timer !== null) clearInterval(timer);
    deps.onEnd({ used: tally.used(), error });
  };
  const fail = (error: GatewayError): void => {
    if (isOver) return;
    controller.enqueue(encodeFrames(frame(JSON.stringify(errorBody(error)))));
    controller.close();
    over(error);
    deps.abort();
  };
  /** @returns whether data was written. */
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
    // Data after the end of the provider's stream is discarded.
    return deps.abort();
  };
  let waiting: readonly StreamPiece[] | null = deps.first;
  const next = async (): Promise<void> => {
    if (waiting !== null) {
      const pieces = waiting;
      waiting = null;
      if (pass(pieces)) return;
    }
    while (!isOver) {
      const { done, value } = await deps.rest.next();
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
        timer ??= setInterval(() => controller.enqueue(encodeFrames(KEEP_ALIVE)), deps.keepAliveMs);
        timer.refresh();
        try {
          await next();
        } catch (error) {
          // The answers are complete; only the usage may be missing.
          if (tally.isFinished() && !isOver) finish();
          else fail(error instanceof GatewayError ? error : cut());
        }
        // A client that does not read gets no keep-alive comments.
        if (timer !== null) clearInterval(timer);
        timer = null;
      },
      cancel() {
        if (isOver) return;
        over(new GatewayError('client_gone', 'The client closed the connection'));
        deps.abort();
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
  return new GatewayError('upstream_error', 'The provider closed the stream before the response was complete');
}

const NOTHING = { completionTokens: 0, cachedTokens: 0, reasoningTokens: 0, isEstimated: true } as const;

/** Counts usage. If a stream ends early, text after the provider's last count is estimated. */
function createTally({ showsUsage, promptTokens }: Pick<Deps, 'showsUsage' | 'promptTokens'>) {
  const open = new Set<unknown>();
  const finished = new Set<unknown>();
  /** The provider's last count, and the characters received until then. */
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
    /** @returns the frame to send; '' to send nothing. */
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
    /** The usage chunk for a client that requested it, if the provider sent none. */
    usageFrame(): string {
      if (!showsUsage || isShown) return '';
      const { id, created, model } = last;
      const chunk = { id, object: 'chat.completion.chunk', created, model, choices: [], usage: wireUsage(used()) };
      return frame(JSON.stringify(chunk));
    },
  };
}
