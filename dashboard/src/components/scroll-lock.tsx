// Stands in for react-remove-scroll, which Radix brings and which writes styles into the page; the policy allows none.
// The mark on the content is what styles/base.css locks the page by. build/build.ts puts it in place.
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
