// Buttons, links styled as buttons, and icon buttons. At most one `primary` per page.
import { createLink } from '@tanstack/react-router';
import type { ComponentPropsWithRef, ReactNode } from 'react';
import styles from './button.module.css';
import { joined } from './class-names.ts';

/** Appearance. */
interface Look {
  readonly variant?: 'primary' | 'secondary' | 'danger' | 'ghost';
  readonly size?: 'small' | 'normal';
}

interface ButtonProps extends ComponentPropsWithRef<'button'>, Look {
  /** The action is running; the button is disabled. */
  readonly isPending?: boolean;
}

/** @example <Button variant="primary" onClick={promote} isPending={isPending}>Promote to production</Button> */
export function Button({ variant, size, isPending = false, disabled, children, className, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      disabled={disabled === true || isPending}
      aria-busy={isPending || undefined}
      className={joined(lookOf({ variant, size }), isPending && styles.pending, className)}
    >
      <span className={styles.label}>{children}</span>
    </button>
  );
}

interface IconButtonProps extends Omit<ButtonProps, 'children'> {
  /** Accessible name and tooltip. */
  readonly label: string;
  readonly children: ReactNode;
}

/** @example <IconButton label="Close" onClick={close}><Cross2Icon /></IconButton> */
export function IconButton({ label, className, variant = 'ghost', size, children, ...rest }: IconButtonProps) {
  return (
    <Button
      {...rest}
      aria-label={label}
      title={label}
      variant={variant}
      size={size ?? 'normal'}
      className={joined(styles.icon, className)}
    >
      {children}
    </Button>
  );
}

function Anchor({ variant, size, className, children, ...rest }: ComponentPropsWithRef<'a'> & Look) {
  return (
    <a {...rest} className={joined(lookOf({ variant, size }), className)}>
      <span className={styles.label}>{children}</span>
    </a>
  );
}

/** An internal link styled as a button. */
export const ButtonLink = createLink(Anchor);

/** An external link styled as a button. */
export function OutsideLink({ children, ...rest }: ComponentPropsWithRef<'a'> & Look) {
  return (
    <Anchor target="_blank" rel="noreferrer" {...rest}>
      {children}
    </Anchor>
  );
}

function lookOf({
  variant = 'secondary',
  size,
}: {
  variant?: Look['variant'] | undefined;
  size?: Look['size'] | undefined;
}) {
  return joined(styles.button, styles[variant], size === 'small' && styles.small);
}
