// Replaces the older part of a conversation by a summary when the prompt becomes too long. If summarizing fails, the
// history is cut. Called by run/model-step.ts, as a separate step.
import type { Ai } from '@platform-run/types';
import type { ContextCompression } from './config-types.ts';
import { capHistory, estimateTokens, turnBorder } from './history.ts';
import type { ChatMessage, Workspace } from './workspace-types.ts';

const TOKENS_MAX = 16_000;
const PRESERVED = 12;
const SUMMARY_CHARS_MAX = 20_000;

const prompt = `Summarise the conversation below for an assistant that goes on with it: facts, decisions, open questions, names and figures. At most 300 words.

Summary so far:
{summary}

Messages:
{messages}`;

/** Number of messages at the beginning to summarize; 0 if none must be summarized. */
export function compressible(workspace: Workspace, systemText: string, options: ContextCompression): number {
  const { maxTokens = TOKENS_MAX, preserveRecentMessages = PRESERVED } = options;
  const { messages } = workspace;
  if (estimateTokens(systemText) + estimateTokens(messages) <= maxTokens) return 0;
  return turnBorder(messages, messages.length - Math.max(preserveRecentMessages, 1));
}

/** Summarizes the messages, including the previous summary. */
export async function summarise(
  ai: Ai,
  model: string,
  summary: string | null,
  messages: readonly ChatMessage[],
  { summaryPrompt = prompt, summaryModel = model }: ContextCompression,
): Promise<string> {
  const values: Record<string, string> = { summary: summary ?? 'none', messages: messages.map(lineOf).join('\n') };
  const text = summaryPrompt.replace(/\{(summary|messages)\}/g, (_, name: string) => values[name]!);
  const { choices } = await ai.run(summaryModel, { messages: [{ role: 'user', content: text }] });
  const content = choices?.[0]?.message.content;
  if (typeof content !== 'string' || content.trim() === '') throw new Error('The model gave no summary');
  return content.slice(0, SUMMARY_CHARS_MAX);
}

/** Replaces messages with a summary; without a summary, drops the oldest messages. */
export function compress(workspace: Workspace, count: number, summary: string | null): void {
  if (summary === null) {
    workspace.messages = capHistory(workspace.messages);
    return;
  }
  workspace.messages = workspace.messages.slice(count);
  workspace.conversationSummary = summary;
}

function lineOf(message: ChatMessage): string {
  const calls = message.role === 'assistant' ? (message.tool_calls ?? []) : [];
  const called = calls.map((call) => ` [calls ${call.function.name}(${call.function.arguments})]`).join('');
  return `${message.role}: ${message.content ?? ''}${called}`;
}
