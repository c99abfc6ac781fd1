// Form fields: label, control, hint, error. The controls are native elements, for keyboards and phones.
import { useId, type ComponentPropsWithRef, type ReactNode } from 'react';
import { joined } from './class-names.ts';
import styles from './field.module.css';
import { Prose } from './prose.tsx';

/** Props that a field passes to its control. */
interface ControlProps {
  readonly id: string;
  readonly 'aria-describedby': string | undefined;
  readonly 'aria-invalid': true | undefined;
}

interface FieldProps {
  readonly label: string;
  readonly hint?: ReactNode;
  /** Validation message. */
  readonly error?: string | null | undefined;
  readonly children: (control: ControlProps) => ReactNode;
}

/** @example <Field label="Name">{(control) => <Input {...control} name="name" required />}</Field> */
export function Field({ label, hint, error, children }: FieldProps) {
  const id = useId();
  const hasError = error !== null && error !== undefined && error !== '';
  const describedBy = [hint !== undefined && `${id}-hint`, hasError && `${id}-error`].filter(Boolean).join(' ');
  return (
    <div className={styles.field}>
      <label className={styles.label} htmlFor={id}>
        {label}
      </label>
      {children({
        id,
        'aria-describedby': describedBy === '' ? undefined : describedBy,
        'aria-invalid': hasError || undefined,
      })}
      {hint !== undefined && (
        <p className={styles.hint} id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {hasError && (
        <p className={styles.error} id={`${id}-error`} role="alert">
          <Prose text={error} />
        </p>
      )}
    </div>
  );
}

/**
 * A constant makes type checks faster: beside `{...rest}` in JSX, the compiler compares `off` with every autocomplete
 * token.
 */
const typed: Pick<ComponentPropsWithRef<'input'>, 'autoComplete' | 'spellCheck'> = {
  autoComplete: 'off',
  spellCheck: false,
};

/** A one-line text field. @param isCode whether the text has the monospace font. */
export function Input({
  className,
  isCode = false,
  ...rest
}: ComponentPropsWithRef<'input'> & { readonly isCode?: boolean }) {
  return <input {...typed} {...rest} className={joined(styles.input, isCode && styles.code, className)} />;
}

/** A multi-line text field. */
export function TextArea({ className, ...rest }: ComponentPropsWithRef<'textarea'>) {
  return <textarea {...typed} {...rest} className={joined(styles.input, styles.area, className)} />;
}

/** A select. @example <Select {...control} value={scope} onChange={...}><option>read</option></Select> */
export function Select({ className, ...rest }: ComponentPropsWithRef<'select'>) {
  return <select {...rest} className={joined(styles.input, styles.select, className)} />;
}

/** A checkbox with a label. */
export function Checkbox({
  label,
  hint,
  ...rest
}: ComponentPropsWithRef<'input'> & { readonly label: ReactNode; readonly hint?: ReactNode }) {
  const id = useId();
  return (
    <div className={styles.check}>
      <input type="checkbox" id={id} {...rest} aria-describedby={hint === undefined ? undefined : `${id}-hint`} />
      <div>
        <label htmlFor={id}>{label}</label>
        {hint !== undefined && (
          <span className={styles.hint} id={`${id}-hint`}>
            {hint}
          </span>
        )}
      </div>
    </div>
  );
}

/** Fields in a row; stacked on narrow screens. */
export function FieldRow({ children }: { readonly children: ReactNode }) {
  return <div className={styles.row}>{children}</div>;
}
