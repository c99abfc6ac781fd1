// A run of an agent as what was said and done in it, read from its steps. Pure.
import type { RunStep } from './run-step.ts';

/** A call of a tool within a turn. */
export interface ToolUse {
  readonly id: string;
  readonly name: string;
  /** JSON. */
  readonly arguments: string;
  /** Null: it has none yet. */
  readonly result: string | null;
  readonly isError: boolean;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
}

/** An answer of the model, with the tools that it called. */
export interface Turn {
  readonly step: number;
  readonly text: string | null;
  readonly model: string | null;
  readonly startedAt: number;
  /** Null: the model has not answered. */
  readonly endedAt: number | null;
  readonly attempts: number;
  readonly problem: string | null;
  readonly tools: readonly ToolUse[];
}

type Json = Readonly<Record<string, unknown>>;
const isJson = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);
const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);

/** Steps that no agent wrote are left out. */
export function turnsOf(steps: readonly RunStep[]): readonly Turn[] {
  return steps.flatMap((step) => {
    const count = /^ai_call_(\d+)$/.exec(step.name)?.[1];
    if (count === undefined) return [];
    const value = valueOf(step);
    const reply = isJson(value?.['reply']) ? value['reply'] : {};
    const calls = Array.isArray(reply['tool_calls']) ? reply['tool_calls'].filter(isJson) : [];
    const used = steps.filter(({ name }) => new RegExp(`^tools_${count}(?:#\\d+)?$`).test(name));
    return [
      {
        step: Number(count),
        text: textOf(reply['content']),
        model: textOf(reply['model']),
        startedAt: step.startedAt,
        endedAt: step.endedAt,
        attempts: step.attempts,
        problem: step.error?.message ?? null,
        tools: calls.map((call, at) => toolUse(call, at, used)),
      },
    ];
  });
}

/** A step says whose call it is; calls that were refused have none. */
function toolUse(call: Json, at: number, used: readonly RunStep[]): ToolUse {
  const id = textOf(call['id']) ?? String(at);
  const named = isJson(call['function']) ? call['function'] : {};
  const step = used.find((one) => valueOf(one)?.['call'] === id || (valueOf(one) === null && ordinalOf(one) === at));
  const content = step === undefined ? null : textOf(valueOf(step)?.['content']);
  return {
    id,
    name: textOf(named['name']) ?? '',
    arguments: textOf(named['arguments']) ?? '',
    result: content ?? step?.error?.message ?? null,
    isError: step?.error !== null && step?.error !== undefined,
    startedAt: step?.startedAt ?? null,
    endedAt: step?.endedAt ?? null,
  };
}

/** What a step of an agent resolved to; null: it has not, or is none of an agent. */
function valueOf({ result }: RunStep): Json | null {
  return isJson(result) && isJson(result['value']) ? result['value'] : null;
}

/** Of a step that failed only its name says which call it was: `tools_1`, `tools_1#2`. */
function ordinalOf({ name }: RunStep): number {
  return Number(/#(\d+)$/.exec(name)?.[1] ?? 1) - 1;
}

/** What the run answers to, of its input; null: it does not say. */
export function askedOf(
  input: unknown,
): { readonly user: string; readonly chat: string; readonly platform: string } | null {
  if (!isJson(input)) return null;
  const [user, chat, platform] = [textOf(input['userId']), textOf(input['chatId']), textOf(input['platform'])];
  return user === null || chat === null || platform === null ? null : { user, chat, platform };
}
