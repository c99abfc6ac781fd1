// Counts requests and usage of the gateway, for /metrics.
import type { Figure } from '#core/process/figures.ts';
import type { UsageLog } from '../contract/contract.ts';

export interface CallCounts {
  /** Calls in progress, until their responses end. */
  readonly running: number;
  /** @returns a function to call when the response has ended. */
  begin(): (status: number) => void;
  /** Wraps a log to count the tokens of its records. */
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
