// The spans of a trace in the order they are shown in: each below the one it is part of. Pure.
import type { Span } from '../../queries/logs.ts';

/** A span and where it stands. */
export interface Placed {
  readonly span: Span;
  /** 0: its parent is not here. */
  readonly depth: number;
}

/** @param spans in the order of their beginning, as the API has them. */
export function placeSpans(spans: readonly Span[]): readonly Placed[] {
  const known = new Set(spans.map(({ spanId }) => spanId));
  const childrenOf = new Map<string | null, Span[]>();
  for (const span of spans) {
    const parent = span.parentId !== null && known.has(span.parentId) ? span.parentId : null;
    const siblings = childrenOf.get(parent);
    if (siblings === undefined) childrenOf.set(parent, [span]);
    else siblings.push(span);
  }
  const placed: Placed[] = [];
  // Without recursion: a chain may be as long as a trace. What is taken is gone, so that a circle ends.
  const open: Placed[] = takeChildren(childrenOf, null, 0);
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    placed.push(next);
    open.push(...takeChildren(childrenOf, next.span.spanId, next.depth + 1));
  }
  // Spans that are each other's parents, as only somebody who makes ids up can have them.
  for (const [, rest] of childrenOf) placed.push(...rest.map((span) => ({ span, depth: 0 })));
  return placed;
}

/** The last first, for a stack. */
function takeChildren(childrenOf: Map<string | null, Span[]>, parent: string | null, depth: number): Placed[] {
  const children = childrenOf.get(parent) ?? [];
  childrenOf.delete(parent);
  return children.toReversed().map((span) => ({ span, depth }));
}
