// Orders the spans of a trace as a tree. Pure.
import type { Span } from '../../queries/logs.ts';

/** A span with its depth. */
interface Placed {
  readonly span: Span;
  /** Depth in the tree; 0 if the parent is not in the trace. */
  readonly depth: number;
}

/** @param spans the spans by start time, as returned by the API. */
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
  // The function is iterative, because a chain of spans may be as long as the trace. Spans are removed when placed, so
  // that cycles end.
  const open: Placed[] = takeChildren(childrenOf, null, 0);
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    placed.push(next);
    open.push(...takeChildren(childrenOf, next.span.spanId, next.depth + 1));
  }
  // The remaining spans have parents that form a cycle, which only forged IDs can do.
  for (const [, rest] of childrenOf) placed.push(...rest.map((span) => ({ span, depth: 0 })));
  return placed;
}

/** Removes and returns the children of a span, in reverse order, because the caller puts them on a stack. */
function takeChildren(childrenOf: Map<string | null, Span[]>, parent: string | null, depth: number): Placed[] {
  const children = childrenOf.get(parent) ?? [];
  childrenOf.delete(parent);
  return children.toReversed().map((span) => ({ span, depth }));
}
