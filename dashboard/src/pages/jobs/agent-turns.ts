// Reads the model responses and tool calls of an agent run from its steps. Pure.
import type { RunStep } from './run-step.ts';

/** A tool call within a turn. */
export interface ToolUse {
  readonly id: string;
  readonly name: string;
  /** JSON. */
  readonly arguments: string;
  /** The result of the call; null if there is none yet. */
  readonly result: string | null;
  readonly isError: boolean;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
}

/** A response of the model with its tool calls. */
export interface Turn {
  readonly step: number;
  readonly text: string | null;
  readonly model: string | null;
  readonly startedAt: number;
  /** When the model responded; null before that. */
  readonly endedAt: number | null;
  readonly attempts: number;
  readonly problem: string | null;
  readonly tools: readonly ToolUse[];
}

type Json = Readonly<Record<string, unknown>>;
const isJson = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);
const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);

/** Reads the turns of an agent from the steps of a run; steps of other kinds are ignored. */
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

/** The step of a tool call names the call. A refused call has no step. */
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

/** The result of an agent's step; null if unfinished or not of an agent. */
function valueOf({ result }: RunStep): Json | null {
  return isJson(result) && isJson(result['value']) ? result['value'] : null;
}

/** The number of the call, which a failed step has only in its name: `tools_1`, `tools_1#2`. */
function ordinalOf({ name }: RunStep): number {
  return Number(/#(\d+)$/.exec(name)?.[1] ?? 1) - 1;
}

/** User, chat and platform from the run's input; null if missing. */
export function askedOf(
  input: unknown,
): { readonly user: string; readonly chat: string; readonly platform: string } | null {
  if (!isJson(input)) return null;
  const [user, chat, platform] = [textOf(input['userId']), textOf(input['chatId']), textOf(input['platform'])];
  return user === null || chat === null || platform === null ? null : { user, chat, platform };
}
