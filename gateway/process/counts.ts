// Counts what the gateway answers and uses, for /metrics.
import type { Figure } from '#core/process/figures.ts';
import type { UsageLog } from '../contract/contract.ts';

export interface CallCounts {
  /** Of calls that are answered, at the end of their answers. */
  readonly running: number;
  /** @returns what notes that the answer has ended. */
  begin(): (status: number) => void;
  /** The same log, counted. */
  counted<Usage extends UsageLog>(usage: Usage): Usage;
  figures(): Figure[];
}

export function createCallCounts(): CallCounts {
  const answered = new Map(['2xx', '4xx', '5xx'].map((status) => [status, 0]));
  const tokens = { prompt: 0, completion: 0 };
  let running = 0;
  return {
    get running() {
      return running;
    },
    begin() {
      running += 1;
      return (status) => {
        running -= 1;
        const group = `${Math.floor(status / 100)}xx`;
        answered.set(group, (answered.get(group) ?? 0) + 1);
      };
    },
    counted: (usage) => ({
      ...usage,
      record(row) {
        tokens.prompt += row.promptTokens;
        tokens.completion += row.completionTokens;
        usage.record(row);
      },
    }),
    figures: () => [
      ...[...answered].map(([status, count]): Figure => ['platform_ai_calls_total', { status }, count]),
      ...Object.entries(tokens).map(([kind, count]): Figure => ['platform_ai_tokens_total', { kind }, count]),
      ['platform_ai_calls_in_flight', {}, running],
    ],
  };
}
