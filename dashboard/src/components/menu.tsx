// A dropdown menu of actions and links, with keyboard navigation.
import { CheckIcon, DotsHorizontalIcon } from '@radix-ui/react-icons';
import { createLink } from '@tanstack/react-router';
import { DropdownMenu as Radix } from 'radix-ui';
import type { ComponentPropsWithRef, ReactNode } from 'react';
import { IconButton } from './button.tsx';
import { joined } from './class-names.ts';
import styles from './menu.module.css';

interface MenuProps {
  /** The button that opens the menu. */
  readonly trigger: ReactNode;
  readonly align?: 'start' | 'end';
  readonly children: ReactNode;
}

/** @example <Menu trigger={<IconButton label="More">...</IconButton>}><MenuItem ...>Cancel</MenuItem></Menu> */
export function Menu({ trigger, align = 'end', children }: MenuProps) {
  return (
    <Radix.Root modal={false}>
      <Radix.Trigger asChild>{trigger}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content className={styles.content} align={align} sideOffset={4} collisionPadding={8}>
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

/**
 * The menu of actions at the end of a table row. @example <ActionsMenu of={name}><MenuItem
 * ...>Delete</MenuItem></ActionsMenu>
 */
export function ActionsMenu({ of, children }: { readonly of: string; readonly children: ReactNode }) {
  return (
    <Menu
      trigger={
        <IconButton label={`Actions for ${of}`} size="small">
          <DotsHorizontalIcon />
        </IconButton>
      }
    >
      {children}
    </Menu>
  );
}

interface MenuItemProps {
  readonly onSelect: () => void;
  readonly icon?: ReactNode;
  readonly hint?: ReactNode;
  readonly isDanger?: boolean;
  readonly isDisabled?: boolean;
  readonly children: ReactNode;
}

/** An action. */
export function MenuItem({ onSelect, icon, hint, isDanger = false, isDisabled = false, children }: MenuItemProps) {
  return (
    <Radix.Item className={joined(styles.item, isDanger && styles.danger)} onSelect={onSelect} disabled={isDisabled}>
      {icon}
      <span>{children}</span>
      {hint !== undefined && <small className={styles.hint}>{hint}</small>}
    </Radix.Item>
  );
}

function Anchor({ children, ...rest }: ComponentPropsWithRef<'a'>) {
  return (
    <Radix.Item asChild className={styles.item}>
      <a {...rest}>
        <span>{children}</span>
      </a>
    </Radix.Item>
  );
}

/** An internal link. */
export const MenuLink = createLink(Anchor);

/** An external link. */
export function MenuOutsideLink({ href, children }: { readonly href: string; readonly children: ReactNode }) {
  return (
    <Anchor href={href} target="_blank" rel="noreferrer">
      {children}
    </Anchor>
  );
}

interface MenuChoiceProps<Value extends string> {
  readonly title: string;
  readonly value: Value;
  readonly choices: readonly (readonly [value: Value, label: string])[];
  readonly onChoose: (value: Value) => void;
}

/** A radio group. */
export function MenuChoice<Value extends string>({ title, value, choices, onChoose }: MenuChoiceProps<Value>) {
  return (
    <Radix.RadioGroup value={value} onValueChange={(next) => onChoose(next as Value)} aria-label={title}>
      <MenuTitle>{title}</MenuTitle>
      {choices.map(([choice, label]) => (
        <Radix.RadioItem key={choice} value={choice} className={styles.item}>
          <span>{label}</span>
          <Radix.ItemIndicator>
            <CheckIcon />
          </Radix.ItemIndicator>
        </Radix.RadioItem>
      ))}
    </Radix.RadioGroup>
  );
}

/** Heading of a group of items. */
export function MenuTitle({ children }: { readonly children: ReactNode }) {
  return <div className={styles.title}>{children}</div>;
}

export function MenuLine() {
  return <Radix.Separator className={styles.line} />;
}
