/** The mark: an open court seen from above. */
export function Mark() {
  return (
    <svg className="mark" viewBox="0 0 32 32" aria-hidden="true">
      <path d="M4 28V13L16 4l12 9v15h-7V16l-5-4-5 4v12z" fill="currentColor" />
      <circle cx="16" cy="23" r="3" fill="currentColor" opacity=".55" />
    </svg>
  );
}
