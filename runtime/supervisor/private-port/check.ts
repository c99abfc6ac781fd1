// `POST /_platform/check` on the private port, for `platform deploy`: checks on one engine whether the worker of an
// artifact starts, and on all serving engines whether a changed route record is loaded.
import type { IncomingMessage } from 'node:http';
import { PlatformError } from '#core/errors.ts';
import { askEngine, type EngineAnswer } from '../engines/engine-calls.ts';
import { readJsonBody } from './json-body.ts';
import type { SupervisorState } from '../engines/state.ts';

/** A worker's top level may take seconds, and its isolate may wait for a slot. */
const CHECK_MS_MAX = 60_000;
const ANSWER_BYTES_MAX = 1024 * 1024;

/**
 * The response of the engine, or `{routed}` for all engines. @throws {PlatformError} `bad_request`, `no_engine`,
 * `engine_lost`.
 */
export async function check(
  request: IncomingMessage,
  state: () => SupervisorState,
  bytesMax: number,
): Promise<EngineAnswer | object> {
  const { body, value } = await readJsonBody(request, bytesMax);
  const serving = state().engines.filter(({ role, state: at }) => role === 'serving' && at === 'listening');
  if (serving.length === 0) throw new PlatformError('no_engine');
  const ask = async (socketPath: string): Promise<EngineAnswer> => {
    try {
      return await askEngine({
        socketPath,
        path: '/_platform/check',
        body,
        timeoutMs: CHECK_MS_MAX,
        bytesMax: ANSWER_BYTES_MAX,
      });
    } catch (error) {
      throw new PlatformError('engine_lost', {}, { cause: error });
    }
  };
  if (typeof (value as { record?: unknown } | null)?.record !== 'string') return ask(serving[0]!.socketPath);
  const answers = await Promise.all(serving.map(({ socketPath }) => ask(socketPath)));
  return {
    routed: answers.every(
      (answer) => (JSON.parse(answer.body.toString('utf8')) as { routed?: unknown }).routed === true,
    ),
  };
}
