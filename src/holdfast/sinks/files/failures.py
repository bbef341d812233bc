"""What can go wrong with a directory of files, beside what the store itself refuses."""

from __future__ import annotations

from holdfast.errors import HoldfastError


class FilesRefusedError(HoldfastError):
    """A directory, or what a stream brings, is not one that batches of files can be written to."""

    code = "FILES_REFUSED"

    def __init__(self, shown: str, *, why: str, how: str) -> None:
        super().__init__(
            what=f"The stream was not started on {shown}; nothing was written.", why=why, how=how
        )


class FilesLedgerError(HoldfastError):
    """The ledger beside a directory is not as Holdfast left it."""

    code = "FILES_LEDGER"

    def __init__(self, where: str, *, why: str) -> None:
        super().__init__(
            what=f"The ledger in {where} cannot be read.",
            why=why,
            how="Put back what was changed there. Else write into a new directory.",
        )


class TooManyFilesError(HoldfastError):
    """A batch would be more files than the sink allows; nothing of it was published."""

    code = "TOO_MANY_FILES"

    def __init__(self, shown: str, batch_id: int, *, found: int, most: int) -> None:
        super().__init__(
            what=f"Batch {batch_id} was not written to {shown}.",
            why=f"It has {found} files, and max_files= allows {most}: every value of the columns "
            "of partition_by= needs one.",
            how="Partition by fewer or coarser columns, raise max_files=, or use hf.Delta, whose "
            "files can be compacted.",
        )


class NotPublishedError(HoldfastError):
    """A batch could not be made visible, and it is not known why; readers see nothing of it."""

    code = "NOT_PUBLISHED"
    retryable = True

    def __init__(self, shown: str, batch_id: int, *, step: str) -> None:
        super().__init__(
            what=f"Batch {batch_id} was not written to {shown}.",
            why=f"Its files could not be {step}: they, or the directory, were moved meanwhile.",
            how="Let nothing else change what is beside the directory, and start the stream again.",
        )
