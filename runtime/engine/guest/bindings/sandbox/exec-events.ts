// Reads the events of `execStream`, for `exec` with `onOutput`.

/** As in packages/types/sandbox.d.ts. */
export interface ExecResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
  readonly success: boolean;
  readonly durationMs: number;
  readonly truncated: boolean;
  readonly timedOut: boolean;
}

interface ExecEvent {
  readonly type: string;
  readonly data: string;
  readonly exitCode: number;
  readonly timedOut: boolean;
  readonly durationMs: number;
}

interface Reader {
  read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array }>;
}

interface Decoder {
  decode(bytes?: Uint8Array, options?: { readonly stream: boolean }): string;
}

/** Maximum size of each output, as for `exec` without events. */
const OUTPUT_CHARS_MAX = 10 * 1024 * 1024;

/** @returns null if the events end before the command does. @throws errors of reading. */
export async function exitOfEvents(
  reader: Reader,
  decoder: Decoder,
  onOutput: (stream: 'stdout' | 'stderr', data: string) => void,
): Promise<ExecResult | null> {
  const output = { stdout: '', stderr: '' };
  let truncated = false;
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return null;
    rest += decoder.decode(value, { stream: true });
    for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n')) {
      const event = JSON.parse(rest.slice('data: '.length, end)) as ExecEvent;
      rest = rest.slice(end + 2);
      const { type, data } = event;
      if (type === 'stdout' || type === 'stderr') {
        onOutput(type, data);
        const room = OUTPUT_CHARS_MAX - output[type].length;
        if (data.length > room) truncated = true;
        output[type] += data.slice(0, room);
      } else if (type === 'complete') {
        const { exitCode, timedOut, durationMs } = event;
        return { ...output, exitCode, success: exitCode === 0, durationMs, truncated, timedOut };
      }
    }
  }
}
