// Operations on workflows: runs, their steps and controls.
import type { ById, Nothing, Page } from './arguments.ts';

/** A run of a workflow in a list. Times are milliseconds since 1970. */
export interface WorkflowRun {
  readonly id: string;
  readonly status: 'pending' | 'running' | 'paused' | 'completed' | 'failed' | 'cancelled';
  readonly error: { readonly name: string; readonly message: string } | null;
  readonly deployment: string;
  readonly createdAt: number;
  readonly startedAt: number | null;
  readonly completedAt: number | null;
}

/** A step of a run. */
export interface WorkflowStep {
  readonly name: string;
  readonly kind: 'run' | 'sleep' | 'event';
  readonly status: 'done' | 'failed' | 'waiting';
  /** Failed attempts. */
  readonly attempts: number;
  readonly result: unknown;
  readonly error: { readonly name: string; readonly message: string } | null;
  readonly wakeAt: number | null;
  readonly eventType: string | null;
  readonly startedAt: number;
  readonly endedAt: number | null;
}

/** A run with its whole history. */
interface WorkflowRunDetail extends WorkflowRun {
  readonly input: unknown;
  readonly output: unknown;
  readonly steps: readonly WorkflowStep[];
  readonly log: readonly { readonly at: number; readonly message: string; readonly content: unknown }[];
}

/** Operations on a workflow. */
export interface WorkflowOperations {
  readonly 'workflow.list': {
    readonly takes: Page & { readonly status?: string | undefined };
    readonly gives: { readonly runs: readonly WorkflowRun[]; readonly cursor: string | null };
  };
  readonly 'workflow.get': { readonly takes: ById; readonly gives: { readonly run: WorkflowRunDetail | null } };
  readonly 'workflow.start': {
    readonly takes: { readonly input?: unknown; readonly id?: string | undefined };
    readonly gives: { readonly id: string };
  };
  readonly 'workflow.cancel': { readonly takes: ById; readonly gives: Nothing };
  readonly 'workflow.pause': { readonly takes: ById; readonly gives: Nothing };
  readonly 'workflow.resume': { readonly takes: ById; readonly gives: Nothing };
  readonly 'workflow.restart': {
    readonly takes: ById & { readonly fromStep?: string | undefined };
    readonly gives: Nothing;
  };
  readonly 'workflow.event': {
    readonly takes: ById & { readonly type: string; readonly payload?: unknown };
    readonly gives: Nothing;
  };
}
