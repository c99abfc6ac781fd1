// Replaces react-remove-scroll, a dependency of Radix that injects styles, which the CSP forbids. styles/base.css locks
// the page by the attribute set here. build/build.ts sets the alias.
import { Slot } from 'radix-ui';
import { useState, type ComponentPropsWithRef, type ReactNode } from 'react';

interface RemoveScrollProps extends ComponentPropsWithRef<'div'> {
  readonly as?: unknown;
  readonly shards?: unknown;
  readonly allowPinchZoom?: boolean;
  readonly children?: ReactNode;
}

export function RemoveScroll({ as: _as, shards: _shards, allowPinchZoom: _zoom, ...rest }: RemoveScrollProps) {
  useState(keepScrollbarWidth);
  return <Slot.Root data-locks-scroll="" {...rest} />;
}

/**
 * Saves the width of the page's scrollbar, which styles/base.css uses. If the page is already locked, it has no
 * scrollbar to measure.
 */
function keepScrollbarWidth(): void {
  const page = document.documentElement;
  if (document.querySelector('[data-locks-scroll]') !== null) return;
  page.style.setProperty('--scrollbar', `${innerWidth - page.clientWidth}px`);
}
