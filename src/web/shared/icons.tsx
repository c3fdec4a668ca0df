/** The few signs that both pages use; they take the colour of the text around them. */
import type { ReactNode } from 'react';

function Icon({ children }: { children: ReactNode }) {
  return (
    <svg
      className="icon"
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.6"
      strokeLinecap="round"
      aria-hidden="true"
    >
      {children}
    </svg>
  );
}

export const CloseIcon = () => (
  <Icon>
    <path d="M4 4l8 8M12 4l-8 8" />
  </Icon>
);
export const UpIcon = () => (
  <Icon>
    <path d="M4 10l4-4 4 4" strokeLinejoin="round" />
  </Icon>
);
export const DownIcon = () => (
  <Icon>
    <path d="M4 6l4 4 4-4" strokeLinejoin="round" />
  </Icon>
);
export const UndoIcon = () => (
  <Icon>
    <path d="M6 3L3 6l3 3M3 6h6.5a3.5 3.5 0 010 7H6" strokeLinejoin="round" />
  </Icon>
);
export const RedoIcon = () => (
  <Icon>
    <path d="M10 3l3 3-3 3M13 6H6.500a3.5 3.5 0 000 7H10" strokeLinejoin="round" />
  </Icon>
);
