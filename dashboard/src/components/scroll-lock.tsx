// Replaces react-remove-scroll, a dependency of Radix that injects styles, which the CSP forbids. styles/base.css locks
// the page by the attribute set here. build/build.ts sets the alias.
import { Slot } from 'radix-ui';
import type { ComponentPropsWithRef, ReactNode } from 'react';

interface RemoveScrollProps extends ComponentPropsWithRef<'div'> {
  readonly as?: unknown;
  readonly shards?: unknown;
  readonly allowPinchZoom?: boolean;
  readonly children?: ReactNode;
}

export function RemoveScroll({ as: _as, shards: _shards, allowPinchZoom: _zoom, ...rest }: RemoveScrollProps) {
  return <Slot.Root data-locks-scroll="" {...rest} />;
}
