// Overlays: a dialog for a question or a form, a side sheet for the details of a row. Both restore focus and close on
// Escape.
import { Cross2Icon } from '@radix-ui/react-icons';
import { Dialog as Radix } from 'radix-ui';
import type { FormEvent, ReactNode } from 'react';
import { IconButton } from './button.tsx';
import { joined } from './class-names.ts';
import styles from './dialog.module.css';

interface OverlayProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly title: ReactNode;
  readonly description?: ReactNode;
  readonly children?: ReactNode;
  /** Buttons at the bottom, the main one last. */
  readonly footer?: ReactNode;
}

interface DialogProps extends OverlayProps {
  readonly isWide?: boolean;
  /** Shows the title only to screen readers; the close button lies over the first line of the content. */
  readonly isTitleHidden?: boolean;
  /** Keeps the dialog open when the user clicks outside of it. */
  readonly isKept?: boolean;
  /** Makes the dialog a form; called on Enter and by the submit button. */
  readonly onSubmit?: () => void;
}

/**
 * @example
 * <Dialog isOpen onClose={close} title="New variable" onSubmit={save} footer={<Button type="submit">Save</Button>}>
 *   ...
 * </Dialog>
 */
export function Dialog({
  isOpen,
  onClose,
  title,
  description,
  children,
  footer,
  isWide = false,
  isTitleHidden = false,
  isKept = false,
  onSubmit,
}: DialogProps) {
  const inside = (
    <>
      <Head title={title} description={description} />
      {children !== undefined && <div className={styles.body}>{children}</div>}
      {footer !== undefined && <div className={styles.foot}>{footer}</div>}
    </>
  );
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    // React also passes the event to a form of the page around the dialog, which must not be submitted.
    event.stopPropagation();
    onSubmit?.();
  };
  const className = joined(styles.dialog, isWide && styles.wide, isTitleHidden && styles.untitled);
  return (
    <Overlay isOpen={isOpen} onClose={onClose}>
      <Radix.Content
        asChild={onSubmit !== undefined}
        className={className}
        onInteractOutside={(event) => isKept && event.preventDefault()}
        {...(description === undefined && { 'aria-describedby': undefined })}
      >
        {onSubmit === undefined ? inside : <form onSubmit={submit}>{inside}</form>}
      </Radix.Content>
    </Overlay>
  );
}

interface SheetProps extends OverlayProps {
  readonly side?: 'left' | 'right';
  /** Buttons beside the close button, such as next and previous. */
  readonly tools?: ReactNode;
}

/** A side panel with details. Keep the open item in the URL: `?run=...`. */
export function Sheet({ isOpen, onClose, title, description, children, footer, side = 'right', tools }: SheetProps) {
  return (
    <Overlay isOpen={isOpen} onClose={onClose}>
      <Radix.Content
        className={joined(styles.sheet, side === 'left' && styles.left)}
        // The sheet itself gets the focus rather than its first button, unless one of its fields asked for the focus.
        onOpenAutoFocus={(event) => {
          event.preventDefault();
          const sheet = event.currentTarget as HTMLElement;
          if (!sheet.contains(document.activeElement)) sheet.focus();
        }}
        {...(description === undefined && { 'aria-describedby': undefined })}
      >
        <Head title={title} description={description} tools={tools} />
        <div className={styles.body}>{children}</div>
        {footer !== undefined && <div className={styles.foot}>{footer}</div>}
      </Radix.Content>
    </Overlay>
  );
}

function Overlay({ isOpen, onClose, children }: Pick<OverlayProps, 'isOpen' | 'onClose' | 'children'>) {
  return (
    <Radix.Root open={isOpen} onOpenChange={(next) => !next && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className={styles.scrim} />
        {children}
      </Radix.Portal>
    </Radix.Root>
  );
}

function Head({ title, description, tools }: Pick<SheetProps, 'title' | 'description' | 'tools'>) {
  return (
    <div className={styles.head}>
      <div className={styles.words}>
        <Radix.Title className={styles.title}>{title}</Radix.Title>
        {description !== undefined && (
          <Radix.Description className={styles.description}>{description}</Radix.Description>
        )}
      </div>
      <div className={styles.tools}>
        {tools}
        <Radix.Close asChild>
          <IconButton label="Close" size="small">
            <Cross2Icon />
          </IconButton>
        </Radix.Close>
      </div>
    </div>
  );
}
