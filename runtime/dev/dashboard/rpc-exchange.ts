// A request that came over no socket: `POST /rpc` becomes one for the worker of core/rpc/worker.mjs, and its response a
// text. dev.ts gives it to the handler.
import type { Exchange } from '../../engine/http/listener.ts';

/** What became of it. */
export interface RpcAnswer {
  readonly status: number;
  readonly body: string;
}

const CHUNK_BYTES = 64 * 1024;

/** An exchange with a JSON body; `onAnswer` hears of its end once. */
export function createRpcExchange(host: string, json: string, onAnswer: (answer: RpcAnswer) => void): Exchange {
  const body = Buffer.from(json);
  const headers: Readonly<Record<string, string>> = {
    'content-type': 'application/json',
    'content-length': String(body.byteLength),
  };
  const chunks: (Uint8Array | string)[] = [];
  let status = 0;
  let sink: Parameters<Exchange['readBody']>[0] | null = null;
  let at = 0;
  let answered = false;

  function answer(value: RpcAnswer): void {
    if (answered) return;
    answered = true;
    sink = null;
    onAnswer(value);
  }

  function flow(): void {
    while (sink !== null) {
      // A copy: the sink keeps what it gets, and others must not share its memory.
      const chunk = new Uint8Array(
        body.subarray(at, at + (body.byteLength <= CHUNK_BYTES ? body.byteLength : CHUNK_BYTES)),
      );
      at += chunk.byteLength;
      const goOn = sink.chunk(chunk);
      if (at >= body.byteLength) {
        const { end } = sink;
        const whole = sink;
        sink = null;
        end.call(whole);
        return;
      }
      if (!goOn) return;
    }
  }

  return {
    method: 'POST',
    target: '/',
    host,
    headerBlock: Object.entries(headers)
      .map(([name, value]) => `${name}\0${value}\0`)
      .join(''),
    remoteAddress: '127.0.0.1',
    bodyBytes: body.byteLength,
    header: (name) => headers[name] ?? null,
    readBody(given) {
      sink = given;
      queueMicrotask(flow);
    },
    resumeBody: flow,
    send: (code, _headers, content) =>
      answer({ status: code, body: content === null ? '' : Buffer.from(content as string).toString() }),
    begin: (code) => void (status = code),
    write(chunk) {
      chunks.push(typeof chunk === 'string' ? chunk : new Uint8Array(chunk));
      return true;
    },
    end: () => answer({ status, body: Buffer.concat(chunks.map((chunk) => Buffer.from(chunk as string))).toString() }),
    upgrade: () => null,
    destroy: () =>
      answer({ status: 502, body: JSON.stringify({ error: { name: 'Error', message: 'The call was cut off' } }) }),
    requestId: '',
    onAbort: null,
    onDrain: null,
    refusedCookies: '',
  };
}
