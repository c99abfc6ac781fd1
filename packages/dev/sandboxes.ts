// Sandboxes in Node: each method is one call on the result of `get(id)` in the isolate that answers. Made by env.ts.
import type { Call, Connection } from './connection.ts';

type Options = Readonly<Record<string, unknown>>;

const METHODS: readonly string[] = [
  'exec',
  'execStream',
  'readFile',
  'readFileBytes',
  'readFileStream',
  'writeFile',
  'deleteFile',
  'moveFile',
  'mkdir',
  'listFiles',
  'exists',
  'watch',
  'gitCheckout',
  'setEnvVars',
  'startProcess',
  'listProcesses',
  'getProcess',
  'getProcessLogs',
  'streamProcessLogs',
  'killProcess',
  'waitForPort',
  'fetch',
];
const OF_SANDBOX: readonly string[] = [
  'snapshot',
  'exposePort',
  'unexposePort',
  'listExposedPorts',
  'info',
  'suspend',
  'resume',
  'destroy',
];

export function createSandboxes(connection: Connection, name: string): object {
  /** Calls a method on the result of the first calls. */
  async function ask(first: Call, next: NonNullable<Call['next']>): Promise<unknown> {
    const last = next.at(-1)!;
    const args = [...(last.args ?? [])];
    const options = args[1];
    let signal: AbortSignal | undefined;
    if (last.method.startsWith('exec') && options !== null && typeof options === 'object') {
      const { signal: given, onOutput, ...rest } = options as Options;
      if (onOutput !== undefined)
        throw new TypeError('onOutput is not available in Node: execStream streams output as it is written');
      signal = given as AbortSignal | undefined;
      args[1] = rest;
    }
    const calls = [...next.slice(0, -1), { method: last.method, args }];
    const { result } = await connection.call(name, { ...first, next: calls }, { signal });
    // The bytes of a response are an ArrayBuffer, and `readFileBytes` returns a Uint8Array.
    return last.method === 'readFileBytes' ? new Uint8Array(result as ArrayBuffer) : result;
  }

  /** @param of arguments of `get`. @param before the calls that get a session from the sandbox. */
  function methodsOf(
    of: readonly unknown[],
    names: readonly string[],
    before: () => NonNullable<Call['next']>,
  ): Options {
    const first = { method: 'get', args: of };
    return Object.fromEntries(
      names.map((method) => [method, (...args: readonly unknown[]) => ask(first, [...before(), { method, args }])]),
    );
  }

  return {
    list: async (options: unknown) => (await connection.call(name, { method: 'list', args: [options] })).result,
    listSnapshots: async (options: unknown) =>
      (await connection.call(name, { method: 'listSnapshots', args: [options] })).result,
    async deleteSnapshot(id: unknown): Promise<void> {
      await connection.call(name, { method: 'deleteSnapshot', args: [id] });
    },
    get,
  };

  function get(id: string, options?: unknown): object {
    const of = options === undefined ? [id] : [id, options];
    return {
      id,
      ...methodsOf(of, [...METHODS, ...OF_SANDBOX], () => []),
      async fork(other: string): Promise<object> {
        // Handles cannot be sent over HTTP, so this only waits until the fork exists, and gets its handle below.
        await ask({ method: 'get', args: of }, [
          { method: 'fork', args: [other] },
          { method: 'info', args: [] },
        ]);
        return get(other);
      },
      async createSession({ cwd, env }: { readonly cwd?: unknown; readonly env?: Options } = {}): Promise<object> {
        let own: Options = { ...env };
        const session = methodsOf(of, METHODS, () => [
          { method: 'createSession', args: [{ ...(cwd === undefined ? {} : { cwd }), env: own }] },
        ]);
        return {
          ...session,
          sessionId: crypto.randomUUID(),
          async setEnvVars(variables: Options): Promise<void> {
            own = { ...own, ...variables };
          },
        };
      },
    };
  }
}
